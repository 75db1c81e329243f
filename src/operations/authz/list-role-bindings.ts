import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";
import { SERVER } from "../../catalog/grants/grants.js";
import { auditedGrant } from "./audited-grant.js";
import { continuation, nextPage, pageMembers, readPage } from "./listing.js";
import { grantAccess, onObject } from "./objects.js";
import { coveredRole, readRole } from "./roles.js";
import { formatSubject, namesOfKeys, parseSubject, subjectName } from "./subjects.js";

export const listRoleBindings = operation({
  id: "ListRoleBindings",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/admin/authz/role_binding/list",
  summary: "List the subjects that grants on the server give a role",
  tag: "Authorization",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      subject: Type.Optional(Type.String()),
      role: Type.Optional(Type.String()),
      ...pageMembers,
    }),
  },
  reply: Type.Object({
    bindings: Type.Array(
      Type.Object({
        subject_id: Type.String(),
        subject_name: Type.Optional(Type.String()),
        role: Type.String(),
      }),
    ),
    ...nextPage,
  }),
  access: { ...grantAccess(), also: () => onObject(undefined, "grant") },
  unrecorded: true,
  audited: (payload, { grants }) => auditedGrant(grants, { ...payload, object: "system" }),
  uses: ["grants"],
  async handle({ grants }, { payload }) {
    const { subject } = payload;
    const role = payload.role === undefined ? undefined : readRole(payload.role);
    const filter = {
      object: SERVER,
      ...(subject !== undefined && { subject: await parseSubject(grants, subject) }),
    };
    const { items, pageToken } = await grants.list(filter, readPage(payload));
    const bound = items.flatMap((entry) => {
      const covered = entry.filter === undefined ? coveredRole(entry.privileges) : undefined;
      if (covered === undefined || (role !== undefined && covered !== role)) return [];
      return [{ subject: entry.subject, role: covered }];
    });
    const names = await namesOfKeys(
      grants,
      bound.map((one) => one.subject),
    );
    const bindings = bound.map((one) => ({
      subject_id: formatSubject(one.subject),
      ...subjectName(names, one.subject),
      role: one.role,
    }));
    return { kind: "json", value: { bindings, ...continuation(pageToken) } };
  },
});
