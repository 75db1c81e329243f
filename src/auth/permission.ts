import type { Call, Operation } from "../api/operation.js";
import type { Services } from "../api/services.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import type { Identity } from "./authenticator.js";
import { allows } from "./roles.js";

/** @throws code 15 if the role of the caller does not cover an operation */
export function checkPermission({ id, permission }: Operation, identity: Identity): void {
  if (!allows(identity.role, permission))
    throw permissionDenied(identity, `${id} needs ${permission}`);
}

/**
 * Checks a request whose content requires `admin` although its operation requires less. Returns a promise
 * only if the check reads the catalog.
 * @throws code 15
 */
export function checkAdministrative(
  { id, administrative }: Operation,
  identity: Identity,
  call: Call<unknown, unknown>,
  services: Services,
): void | Promise<void> {
  if (!administrative || allows(identity.role, "admin")) return undefined;
  const check = (isAdministrative: boolean): void => {
    if (isAdministrative)
      throw permissionDenied(identity, `${id} needs admin to ${administrative.to}`);
  };
  const isAdministrative = administrative.includes(call, services);
  return isAdministrative instanceof Promise
    ? isAdministrative.then(check)
    : check(isAdministrative);
}

const permissionDenied = ({ id, name, role }: Identity, needed: string): JoustError => {
  const kind = id.startsWith("user:") ? "user" : "key";
  return new JoustError(
    ErrorCode.PermissionDenied,
    `the ${kind} \`${name}\` has the role ${role}; ${needed}`,
  );
};
