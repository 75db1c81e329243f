import { addGrant } from "./add-grant.js";
import { addRoleBinding } from "./add-role-binding.js";
import { deleteGrant } from "./delete-grant.js";
import { deleteRoleBinding } from "./delete-role-binding.js";
import { describeGroup } from "./describe-group.js";
import { describePrincipal } from "./describe-principal.js";
import { listGrants } from "./list-grants.js";
import { listRoleBindings } from "./list-role-bindings.js";

export const authz = [
  listGrants,
  addGrant,
  deleteGrant,
  listRoleBindings,
  addRoleBinding,
  deleteRoleBinding,
  describePrincipal,
  describeGroup,
];
