import { operation } from "../../api/operation.js";
import { SERVER } from "../../catalog/grants/grants.js";
import { bindingRequest } from "./binding-request.js";
import { grantAccess, onObject } from "./objects.js";
import { privilegesOfRole } from "./roles.js";
import { parseSubject } from "./subjects.js";

export const addRoleBinding = operation({
  ...bindingRequest,
  id: "AddRoleBinding",
  path: "/admin/authz/role_binding/add",
  summary: "Grant the privileges of a role on the server",
  access: {
    ...grantAccess(),
    also: ({ payload }) => onObject(undefined, "grant", ...privilegesOfRole(payload.role)),
  },
  async handle({ grants }, { payload }) {
    const subject = await parseSubject(grants, payload.subject);
    await grants.grant(subject, SERVER, privilegesOfRole(payload.role));
    return { kind: "json", value: {} };
  },
});
