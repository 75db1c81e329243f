import { describeObject, type SecuredObject } from "../catalog/grants/grants.js";
import type { Privilege } from "../catalog/grants/privileges.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import type { Identity } from "./authenticator.js";

/** What a caller lacks. */
export interface Denial {
  /** The operation and the role that it needs: `DropTable needs write`. */
  readonly needs: string;
  /** The privileges that would do instead of the role. */
  readonly missing?: { readonly privileges: readonly Privilege[]; readonly object: SecuredObject };
}

export function permissionDenied({ id, name, role }: Identity, denial: Denial): JoustError {
  const kind = id.startsWith("user:") ? "user" : "key";
  const { needs, missing } = denial;
  const instead = missing
    ? `, or the ${privilegeList(missing.privileges)} on ${describeObject(missing.object)}`
    : "";
  return new JoustError(
    ErrorCode.PermissionDenied,
    `the ${kind} \`${name}\` has the role ${role}; ${needs}${instead}`,
  );
}

/** `privilege select`, `privileges insert, update and delete`. */
function privilegeList(names: readonly Privilege[]): string {
  const last = names.at(-1) ?? "";
  if (names.length < 2) return `privilege ${last}`;
  return `privileges ${names.slice(0, -1).join(", ")} and ${last}`;
}
