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
  /** The caller has privileges on the object with a row filter, which the operation does not apply. */
  readonly isFiltered?: boolean;
}

export function permissionDenied({ id, name, role }: Identity, denial: Denial): JoustError {
  const kind = id.startsWith("user:") ? "user" : "key";
  const { needs, missing, isFiltered } = denial;
  const instead = missing
    ? `, or the ${privilegeList(missing.privileges)} on ${describeObject(missing.object)}`
    : "";
  const rows = isFiltered ? " for all rows: it does not support the row filter of a grant" : "";
  return new JoustError(
    ErrorCode.PermissionDenied,
    `the ${kind} \`${name}\` has the role ${role}; ${needs}${instead}${rows}`,
  );
}

/** `privilege select`, `privileges insert, update and delete`. */
function privilegeList(names: readonly Privilege[]): string {
  const last = names.at(-1) ?? "";
  if (names.length < 2) return `privilege ${last}`;
  return `privileges ${names.slice(0, -1).join(", ")} and ${last}`;
}
