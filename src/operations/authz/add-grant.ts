import { operation } from "../../api/operation.js";
import { ErrorCode, JoustError } from "../../foundation/errors.js";
import { grantRequest } from "./grant-request.js";
import { grantAccess, onObject, parseObject } from "./objects.js";
import { parsePrivileges } from "./privilege-names.js";
import { parseSubject } from "./subjects.js";

export const addGrant = operation({
  ...grantRequest,
  id: "AddGrant",
  path: "/admin/authz/acl/add",
  uses: ["catalog", "grants"],
  summary: "Grant a privilege on an object, which the caller must have itself",
  access: {
    ...grantAccess(),
    also: ({ payload }) => onObject(payload.object, "grant", ...parsePrivileges(payload.privilege)),
  },
  async handle({ catalog, grants }, { payload }) {
    const subject = await parseSubject(grants, payload.subject);
    const privileges = parsePrivileges(payload.privilege);
    const object = parseObject(payload.object);
    // The catalog may not know yet what another tool has just put into the root.
    if (object.kind === "table") await catalog.table(object.id);
    if (object.kind === "namespace") await catalog.describeNamespace(object.path);
    const granted = await grants.grant(subject, object, privileges);
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
