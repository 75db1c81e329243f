import { operation } from "../../api/operation.js";
import { grantBody, grantRequest } from "./grant-request.js";
import { grantAccess, onObject, parseObject } from "./objects.js";
import { parsePrivileges } from "./privilege-names.js";
import { missing, parseSubject } from "./subjects.js";

export const deleteGrant = operation({
  ...grantRequest,
  body: { kind: "json", schema: grantBody },
  id: "DeleteGrant",
  path: "/admin/authz/acl/delete",
  uses: ["grants"],
  summary: "Revoke a privilege on an object",
  access: { ...grantAccess(), also: ({ payload }) => onObject(payload.object, "grant") },
  async handle({ grants }, { payload }) {
    const subject = await parseSubject(grants, payload.subject);
    const privileges = parsePrivileges(payload.privilege);
    const revoked = await grants.revoke(subject, parseObject(payload.object), privileges);
    if (revoked.length === 0) {
      throw missing("the subject has no grant of the privilege on the object");
    }
    return { kind: "json", value: {} };
  },
});
