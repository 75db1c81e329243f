import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";
import { invalidInput } from "../../foundation/errors.js";
import { auditedGrant } from "./audited-grant.js";
import { grantAccess, onObject } from "./objects.js";
import { boundRole } from "./roles.js";
import { idOf, missing, parseSubject } from "./subjects.js";

export const describePrincipal = operation({
  id: "DescribePrincipal",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/admin/authz/principal",
  summary: "Describe a key or a user: its name and its roles; tokens name the groups of a user",
  tag: "Authorization",
  params: nothing,
  body: { kind: "json", schema: Type.Object({ principal: Type.String() }) },
  reply: Type.Object({
    principal_id: Type.String(),
    principal_name: Type.Optional(Type.String()),
    groups: Type.Array(Type.Object({ id: Type.String() })),
    roles: Type.Array(Type.String()),
  }),
  access: { ...grantAccess(), also: () => onObject(undefined, "grant") },
  unrecorded: true,
  audited: (payload, { grants }) => auditedGrant(grants, { subject: payload.principal }),
  uses: ["grants"],
  async handle({ grants }, { payload }) {
    const subject = await parseSubject(grants, payload.principal);
    if (subject.startsWith("group:")) {
      throw invalidInput(
        "principal must be a key or a user: POST /admin/authz/group describes a group",
      );
    }
    const id = idOf(subject);
    const isKey = subject.startsWith("key:");
    const [key] = isKey ? await grants.findKeys({ ids: [id] }) : [];
    if (isKey && !key) throw missing("there is no such key: joust key list shows the keys");
    const roles = new Set<string>();
    if (key && key.role !== "none") roles.add(key.role);
    const bound = await boundRole(grants, subject);
    if (bound) roles.add(bound);
    const value = {
      principal_id: id,
      ...(key && { principal_name: key.name }),
      groups: [],
      roles: [...roles],
    };
    return { kind: "json", value };
  },
});
