import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";
import { invalidInput } from "../../foundation/errors.js";
import { auditedGrant } from "./audited-grant.js";
import { grantAccess, onObject } from "./objects.js";
import { boundRole } from "./roles.js";
import { idOf, parseSubject } from "./subjects.js";

export const describeGroup = operation({
  id: "DescribeGroup",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/admin/authz/group",
  summary: "Describe a group: its roles; tokens name its members",
  tag: "Authorization",
  params: nothing,
  body: { kind: "json", schema: Type.Object({ group: Type.String() }) },
  reply: Type.Object({
    group_id: Type.String(),
    group_name: Type.Optional(Type.String()),
    principals: Type.Array(Type.Object({ id: Type.String() })),
    roles: Type.Array(Type.String()),
  }),
  access: { ...grantAccess(), also: () => onObject(undefined, "grant") },
  unrecorded: true,
  audited: (payload, { grants }) => auditedGrant(grants, { subject: payload.group }),
  uses: ["grants"],
  async handle({ grants }, { payload }) {
    const subject = await parseSubject(grants, payload.group);
    if (!subject.startsWith("group:")) {
      throw invalidInput("group must be g:ID or G:NAME");
    }
    const role = await boundRole(grants, subject);
    const id = idOf(subject);
    const roles = role ? [role] : [];
    return { kind: "json", value: { group_id: id, group_name: id, principals: [], roles } };
  },
});
