import type { Requirement } from "../api/access.js";
import { MissingObjectReply } from "../api/missing-object-reply.js";
import type { Services } from "../api/services.js";
import { changedObject } from "../api/transactions/changed-object.js";
import { transactionNotFound } from "../api/transactions/store.js";
import type { RowRestriction, TableId, TableRecord } from "../catalog/catalog.js";
import { namespaceNotFound, tableNotFound } from "../catalog/failures.js";
import type { CallerPrivileges } from "../catalog/grants/caller-privileges.js";
import {
  namespaceObject,
  SERVER,
  type SecuredObject,
  tableObject,
} from "../catalog/grants/grants.js";
import type { HeldGrants } from "../catalog/grants/held-grants.js";
import {
  covers,
  FILTERED,
  NO_PRIVILEGES,
  namesOf,
  type Privilege,
  type PrivilegeSet,
  readsSomeRows,
  setOf,
} from "../catalog/grants/privileges.js";
import { noTableName } from "../catalog/names.js";
import { encodePath } from "../catalog/path.js";
import type { JoustError } from "../foundation/errors.js";
import { permissionDenied } from "./denial.js";
import { type RestrictedRequest, type Restriction, restrictionOf } from "./recent-restrictions.js";
import { servicesForRows } from "./restricted-services.js";
import { allows } from "./roles.js";

/** A request that grants have to admit. */
export interface GrantedRequest extends RestrictedRequest {
  /** The grants of the subjects of the caller. */
  readonly held: readonly HeldGrants[];
  /** See `GrantLookup.version`: read before the grants. */
  readonly version: number | undefined;
}

/**
 * Decides a request by the role and the grants of the caller together. The decision does not depend on whether an object
 * exists that the caller may not see.
 */
export function authorizeByGrants(request: GrantedRequest): Services | Promise<Services> {
  const restriction = restrictionOf(request, request.held);
  if (isCoveredAtHand(request, restriction)) {
    restriction.coveredAt = request.version;
    return restriction.restricted;
  }
  return new GrantCheck(request, restriction.privileges, restriction.restricted).run();
}

/** The most frequent requests need no promise: one table, no condition on the content. */
function isCoveredAtHand(
  { operation, call, services }: GrantedRequest,
  { privileges }: Restriction,
): boolean {
  const { access, administrative } = operation;
  if (access.on !== "table" || access.also || administrative) return false;
  // Before the check nothing is looked up: how long that takes would tell whether the table exists.
  const set = privileges.onTableSync(call.id, services.catalog) ?? NO_PRIVILEGES;
  if (set === NO_PRIVILEGES || readsSomeRows(set)) return false;
  return covers(set, setOf(access.privileges));
}

class GrantCheck {
  /** The table of the path, if the caller may use some of its rows only. */
  #restricted: { record: TableRecord; restriction: RowRestriction } | undefined;

  constructor(
    private readonly request: GrantedRequest,
    private readonly privileges: CallerPrivileges,
    /** What the caller may see. */
    private readonly visible: Services,
  ) {}

  /** Resolves to the services for the handler. */
  async run(): Promise<Services> {
    await this.#checkAll();
    if (!this.#restricted) return this.visible;
    const { record, restriction } = this.#restricted;
    return servicesForRows(this.visible, record, restriction);
  }

  async #checkAll(): Promise<void> {
    const { operation, call } = this.request;
    const { access, administrative } = operation;
    const object = await this.#checkObject();
    for (const requirement of (await access.also?.(call, this.visible)) ?? []) {
      await this.#check(requirement);
    }
    // `also` reads the objects of a body, with all that they need.
    if (!administrative || access.on === "body") return;
    if (!(await administrative.includes(call, this.visible))) return;
    const target = administrative.on?.(call) === "server" ? SERVER : object;
    await this.#check({ object: target, privileges: ["manage"] }, administrative.to);
  }

  /** Checks the object of the request. Returns it, or the object whose privileges count for it. */
  async #checkObject(): Promise<SecuredObject> {
    const { operation, call } = this.request;
    const { on, privileges } = operation.access;
    switch (on) {
      case "table":
        return this.#check({ object: tableObject(call.id), privileges });
      case "namespace":
        if (!this.privileges.seesNamespace(call.id)) {
          const reply = operation.access.missingReply?.(call);
          if (reply) throw new MissingObjectReply(reply);
        }
        return this.#check({ object: namespaceObject(call.id), privileges });
      case "new table":
        if (call.id.length === 0) throw noTableName();
        await this.#check({ object: namespaceObject(call.id.slice(0, -1)), privileges });
        return namespaceObject(call.id.slice(0, -1));
      case "new namespace":
        await this.#check({ object: namespaceObject(call.id.slice(0, -1)), privileges });
        return namespaceObject(call.id);
      case "job table":
        return this.#checkJob((call.payload as { job_id: string }).job_id);
      case "transaction object":
        return this.#checkTransaction(call.id);
      case "server":
        return this.#check({ object: SERVER, privileges });
      case "named tables":
      case "body":
      case "nothing":
        return SERVER;
    }
  }

  /** @throws code 10 if the job does not exist or the caller may not see its table */
  async #checkJob(id: string): Promise<SecuredObject> {
    const { services, operation } = this.request;
    const job = await this.visible.jobs.describe(id);
    const table = await services.catalog.tableByKey(job.table);
    const { privileges } = operation.access;
    return this.#check({ object: table ? tableObject(table.id) : SERVER, privileges });
  }

  /** @throws code 10 if the transaction does not exist or the caller may not see what it changed */
  async #checkTransaction(id: readonly string[]): Promise<SecuredObject> {
    const { services, operation } = this.request;
    const [transaction] = id;
    // The handler reports a malformed identifier.
    if (transaction === undefined || id.length > 1) return SERVER;
    const { properties } = await services.transactions.describe(transaction);
    const path = changedObject(properties);
    // The record does not say whether the object was a table or a namespace.
    const candidates = path.length === 0 ? [SERVER] : [tableObject(path), namespaceObject(path)];
    const sets = await Promise.all(
      candidates.map((object) => this.privileges.on(object, services.catalog)),
    );
    const held = sets.reduce((all, set) => all | set, NO_PRIVILEGES);
    if (held === NO_PRIVILEGES) throw transactionNotFound(transaction);
    const object = candidates[0] as SecuredObject;
    this.#require(held, object, operation.access.privileges);
    return object;
  }

  /** @throws the error for a missing object, or code 15 */
  async #check(requirement: Requirement, to?: string): Promise<SecuredObject> {
    const { object, privileges } = requirement;
    const held = await this.privileges.on(object, this.request.services.catalog);
    if (!this.#isVisible(object, held)) throw this.#missing(object);
    if (object.kind === "table" && covers(held, FILTERED)) {
      if (await this.#applyFilters(held, object.id, requirement)) return object;
    }
    this.#require(held, object, privileges, to);
    return object;
  }

  /** Restricts the request to the rows of the caller. False: its filters do not give it what the requirement needs. */
  async #applyFilters(
    held: PrivilegeSet,
    id: TableId,
    { privileges, allRows }: Requirement,
  ): Promise<boolean> {
    const { operation, call, services } = this.request;
    const { on, rows } = operation.access;
    if (!rows || allRows || on !== "table" || encodePath(id) !== encodePath(call.id)) return false;
    const record = await services.catalog.table(id);
    const filtersOf = (privilege: Privilege) => this.privileges.filtersOn(record, privilege);
    const missing = namesOf(setOf(privileges) & ~held);
    // A filter of `select` also applies to an operation that reads rows and needs other privileges.
    const reads = rows.includes("select") && !privileges.includes("select") && readsSomeRows(held);
    const filtered =
      reads && filtersOf("select").length > 0 ? [...missing, "select" as const] : missing;
    if (filtered.length === 0) {
      if (privileges.length > 0 || !readsSomeRows(held)) return false;
      this.#restricted ??= { record, restriction: {} };
      return true;
    }
    if (!filtered.every((privilege) => rows.includes(privilege))) return false;
    const [filters = [], ...others] = filtered.map(filtersOf);
    // One request has one filter.
    if (filters.length === 0 || !others.every((other) => isSameSet(filters, other))) return false;
    this.#restricted = { record, restriction: { filters } };
    return true;
  }

  #isVisible(object: SecuredObject, held: PrivilegeSet): boolean {
    if (object.kind === "server") return true;
    if (object.kind === "table") return held !== NO_PRIVILEGES;
    return this.privileges.seesNamespace(object.path);
  }

  /** The error that a request gets if the object does not exist. */
  #missing(object: SecuredObject): JoustError {
    if (object.kind !== "table") {
      return namespaceNotFound(object.kind === "namespace" ? object.path : []);
    }
    if (object.id.length === 0) return noTableName();
    const parent = object.id.slice(0, -1);
    return this.privileges.seesNamespace(parent)
      ? tableNotFound(object.id)
      : namespaceNotFound(parent);
  }

  #require(
    held: PrivilegeSet,
    object: SecuredObject,
    needed: readonly Privilege[],
    to?: string,
  ): void {
    // What an operation without a privilege shows of a table may count hidden rows.
    const hides = needed.length === 0 && object.kind === "table" && readsSomeRows(held);
    const missing = setOf(hides ? ["select"] : needed) & ~held;
    if (missing === NO_PRIVILEGES) return;
    const isFiltered = object.kind === "table" && covers(held, FILTERED);
    const { operation, identity } = this.request;
    const { id, permission, administrative } = operation;
    const purpose = to ?? (allows(identity.role, permission) ? administrative?.to : undefined);
    const needs =
      purpose === undefined ? `${id} needs ${permission}` : `${id} needs admin to ${purpose}`;
    throw permissionDenied(identity, {
      needs,
      missing: { privileges: namesOf(missing), object },
      isFiltered,
    });
  }
}

const isSameSet = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((member) => other.includes(member));
