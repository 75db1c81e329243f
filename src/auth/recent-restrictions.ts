import type { Call, Operation } from "../api/operation.js";
import type { Services } from "../api/services.js";
import { CallerPrivileges } from "../catalog/grants/caller-privileges.js";
import type { HeldGrants } from "../catalog/grants/held-grants.js";
import { roleBundles } from "../catalog/grants/privileges.js";
import { encodePath } from "../catalog/path.js";
import { countLookup } from "../telemetry/auth-counts.js";
import type { Identity } from "./authenticator.js";
import { restrictedServices } from "./restricted-services.js";

/** What a caller may do and see with one operation on the object of a path. Equal requests share it. */
export interface Restriction {
  readonly operation: Operation;
  readonly services: Services;
  readonly privileges: CallerPrivileges;
  /** The services for the handler. */
  readonly restricted: Services;
  /** The version of the catalog at which the privileges on the table of the path sufficed. */
  coveredAt: number | undefined;
}

/** A request of a caller whose role does not suffice. */
export interface RestrictedRequest {
  readonly operation: Operation;
  readonly identity: Identity;
  readonly call: Call<unknown, unknown>;
  readonly services: Services;
}

/** The restrictions of a caller as long as its grants stay the same. */
class Caller {
  readonly #privileges: CallerPrivileges;
  /** By encoded path: one restriction of each operation. */
  readonly #restrictions = new Map<string, Restriction[]>();

  constructor(
    private readonly role: Identity["role"],
    private readonly held: readonly HeldGrants[],
  ) {
    this.#privileges = new CallerPrivileges(roleBundles[role], held);
  }

  /** The cache of grants makes other objects after each change. */
  hasGrants(held: readonly HeldGrants[]): boolean {
    return held.length === this.held.length && held.every((one, at) => one === this.held[at]);
  }

  find({ operation, call, services }: RestrictedRequest): Restriction | undefined {
    const ofObject = this.#restrictions.get(encodePath(call.id));
    if (!ofObject) return undefined;
    for (const one of ofObject) {
      if (one.operation === operation) return one.services === services ? one : undefined;
    }
    return undefined;
  }

  add({ operation, call, services }: RestrictedRequest): Restriction {
    const privileges = this.#privileges;
    const restricted =
      this.role === "none" ? restrictedServices(services, privileges, operation, call) : services;
    const made = { operation, services, privileges, restricted, coveredAt: undefined };
    const object = encodePath(call.id);
    const others = this.#restrictions.get(object)?.filter((one) => one.operation !== operation);
    this.#restrictions.set(object, [...(others ?? []), made]);
    return made;
  }
}

/** The most restrictions in memory. */
const MOST_RECENT = 10_000;

let callers = new WeakMap<Identity, Caller>();
let made = 0;

/**
 * The services of a request that equals one whose privileges sufficed at the present version of the catalog. Undefined:
 * the request has to be checked. No grant and no table is looked up: the same version has the same ones.
 */
export function coveredServices(
  request: RestrictedRequest,
  version: number | undefined,
): Services | undefined {
  if (version === undefined) return undefined;
  const known = callers.get(request.identity)?.find(request);
  if (known?.coveredAt !== version) return undefined;
  countLookup("privileges", true);
  return known.restricted;
}

/** The restriction of a caller with these grants. To make one takes longer than all checks of a point read. */
export function restrictionOf(
  request: RestrictedRequest,
  held: readonly HeldGrants[],
): Restriction {
  const { identity } = request;
  let caller = callers.get(identity);
  const known = caller?.hasGrants(held) ? caller.find(request) : undefined;
  countLookup("privileges", known !== undefined);
  if (known) return known;
  if (made >= MOST_RECENT) {
    callers = new WeakMap();
    caller = undefined;
    made = 0;
  }
  made++;
  if (!caller?.hasGrants(held)) {
    caller = new Caller(identity.role, held);
    callers.set(identity, caller);
  }
  return caller.add(request);
}
