import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import type { SecuredObject } from "../../catalog/grants/grants.js";
import { checkRowFilter } from "../../engine/index.js";
import { ErrorCode, JoustError } from "../../foundation/errors.js";
import { onTable, type TableDependencies } from "../../tables/open-table.js";
import { grantBody, grantRequest } from "./grant-request.js";
import { grantAccess, onObject, parseObject } from "./objects.js";
import { parsePrivileges } from "./privilege-names.js";
import { parseSubject } from "./subjects.js";

const filter = Type.Optional(
  Type.String({
    description:
      "SQL: the privilege (SELECT, INSERT, UPDATE or DELETE) applies to the rows for which it is true",
  }),
);

/** Of a namespace, only the form of the condition can be checked. @throws code 12 or 13 */
async function checkFilter(
  services: TableDependencies,
  object: SecuredObject,
  filter: string,
): Promise<void> {
  if (object.kind !== "table") checkRowFilter(filter);
  else await onTable(services, object.id, ({ table }) => table.checkRowFilter(filter));
}

export const addGrant = operation({
  ...grantRequest,
  body: { kind: "json", schema: Type.Intersect([grantBody, Type.Object({ filter })]) },
  id: "AddGrant",
  path: "/admin/authz/acl/add",
  uses: ["catalog", "config", "engine", "grants"],
  summary: "Grant a privilege on an object, which the caller must have itself",
  access: {
    ...grantAccess(),
    also: ({ payload }) => onObject(payload.object, "grant", ...parsePrivileges(payload.privilege)),
  },
  async handle(services, { payload }) {
    const { catalog, grants } = services;
    const subject = await parseSubject(grants, payload.subject);
    const privileges = parsePrivileges(payload.privilege);
    const object = parseObject(payload.object);
    // The catalog may not know yet what another tool has just put into the root.
    if (object.kind === "table") await catalog.table(object.id);
    if (object.kind === "namespace") await catalog.describeNamespace(object.path);
    const { filter } = payload;
    if (filter !== undefined) await checkFilter(services, object, filter);
    const granted = await grants.grant(subject, object, privileges, filter);
    if (granted.length === 0) {
      throw new JoustError(
        ErrorCode.InvalidInput,
        "the subject already has the privilege on the object",
        409,
      );
    }
    return { kind: "json", value: {} };
  },
});
