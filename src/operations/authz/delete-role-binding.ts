import { operation } from "../../api/operation.js";
import { SERVER } from "../../catalog/grants/grants.js";
import { bindingRequest } from "./binding-request.js";
import { grantAccess, onObject } from "./objects.js";
import { boundRole, privilegesOfRole, readRole } from "./roles.js";
import { parseSubject } from "./subjects.js";

export const deleteRoleBinding = operation({
  ...bindingRequest,
  id: "DeleteRoleBinding",
  path: "/admin/authz/role_binding/delete",
  summary: "Revoke the privileges of a role on the server; no effect on another role",
  access: { ...grantAccess(), also: () => onObject(undefined, "grant") },
  async handle({ grants }, { payload }) {
    const subject = await parseSubject(grants, payload.subject);
    const role = readRole(payload.role);
    // The privileges of a smaller role are part of a larger one, which stays.
    if ((await boundRole(grants, subject)) === role) {
      await grants.revoke(subject, SERVER, privilegesOfRole(role));
    }
    return { kind: "json", value: {} };
  },
});
