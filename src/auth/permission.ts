import type { Call, Operation } from "../api/operation.js";
import type { Services } from "../api/services.js";
import type { GrantLookup } from "../catalog/grants/grants.js";
import type { HeldGrants } from "../catalog/grants/held-grants.js";
import type { Identity } from "./authenticator.js";
import { type Denial, permissionDenied } from "./denial.js";
import { authorizeByGrants } from "./grant-check.js";
import { coveredServices } from "./recent-restrictions.js";
import { allows } from "./roles.js";
import { subjectsOf } from "./subjects.js";

/**
 * Checks a request before its body is read. A caller without a sufficient role passes if grants may admit it: then
 * `authorize` decides.
 * @throws code 15 if the role of the caller does not cover the operation and no grant can
 */
export function checkPermission(
  operation: Operation,
  identity: Identity,
  grants: GrantLookup,
): void {
  if (allows(identity.role, operation.permission)) return;
  // Without a role, most objects do not exist for the caller, and the reply must say so.
  if (identity.role === "none") return;
  if (hasNoGrants(grants.heldSync(subjectsOf(identity)))) {
    throw permissionDenied(identity, roleNeeded(operation));
  }
}

/**
 * Checks that the caller may send a request. Returns the services for its handler: a caller without a role gets services
 * that show only what it may see. Returns a promise only if grants must decide, or if the check reads the catalog.
 * @throws code 15 for a missing privilege; the error for a missing object if the caller may not see the object
 */
export function authorize(
  operation: Operation,
  identity: Identity,
  call: Call<unknown, unknown>,
  services: Services,
): Services | Promise<Services> {
  const { administrative, permission } = operation;
  if (!allows(identity.role, permission)) return byGrants(operation, identity, call, services);
  if (!administrative || allows(identity.role, "admin")) return services;
  const decide = (isAdministrative: boolean): Services | Promise<Services> =>
    isAdministrative ? byGrants(operation, identity, call, services) : services;
  const isAdministrative = administrative.includes(call, services);
  return isAdministrative instanceof Promise
    ? isAdministrative.then(decide)
    : decide(isAdministrative);
}

function byGrants(
  operation: Operation,
  identity: Identity,
  call: Call<unknown, unknown>,
  services: Services,
): Services | Promise<Services> {
  const request = { operation, identity, call, services };
  // Before all that the decision reads: a commit meanwhile then makes the next request decide again.
  const version = services.grants.version();
  const covered = coveredServices(request, version);
  if (covered) return covered;
  const subjects = subjectsOf(identity);
  const decide = (held: readonly HeldGrants[]): Services | Promise<Services> => {
    const isRoleEnough = allows(identity.role, operation.permission);
    if (identity.role !== "none" && hasNoGrants(held)) {
      throw permissionDenied(
        identity,
        isRoleEnough ? adminNeeded(operation) : roleNeeded(operation),
      );
    }
    return authorizeByGrants({ ...request, held, version });
  };
  const held = services.grants.heldSync(subjects);
  return held ? decide(held) : services.grants.held(subjects).then(decide);
}

const hasNoGrants = (held: readonly HeldGrants[] | undefined): boolean =>
  held?.every(({ isEmpty }) => isEmpty) ?? false;

const roleNeeded = ({ id, permission }: Operation): Denial => ({
  needs: `${id} needs ${permission}`,
});

const adminNeeded = ({ id, administrative }: Operation): Denial => ({
  needs: `${id} needs admin to ${administrative?.to}`,
});
