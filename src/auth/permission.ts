import type { Call, Operation } from "../api/operation.js";
import type { Services } from "../api/services.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import type { Identity } from "./authenticator.js";
import { allows } from "./roles.js";

/** @throws code 15 when the caller's role does not cover an operation */
export function checkPermission({ id, permission }: Operation, identity: Identity): void {
  if (!allows(identity.role, permission))
    throw permissionDenied(identity, `${id} needs ${permission}`);
}

/**
 * Refuses a request (code 15) that needs `admin` for what it asks, where its operation in general needs less.
 * Without a promise where nothing has to be looked up.
 */
export function checkAdministrative(
  { id, administrative }: Operation,
  identity: Identity,
  call: Call<unknown, unknown>,
  services: Services,
): void | Promise<void> {
  if (!administrative || allows(identity.role, "admin")) return undefined;
  const check = (included: boolean): void => {
    if (included) throw permissionDenied(identity, `${id} needs admin to ${administrative.to}`);
  };
  const included = administrative.includes(call, services);
  return included instanceof Promise ? included.then(check) : check(included);
}

const permissionDenied = ({ name, role }: Identity, needed: string): JoustError =>
  new JoustError(ErrorCode.PermissionDenied, `the key \`${name}\` has the role ${role}; ${needed}`);
