/** Grants: which subject has which privilege on which object. */
import type { NamespacePath, Page, PageRequest, TableId } from "../catalog.js";
import { formatPath } from "../path.js";
import type { HeldGrants } from "./held-grants.js";
import type { Privilege } from "./privileges.js";

/** An object that a privilege applies to. A privilege also applies to everything in the object. */
export type SecuredObject =
  | { readonly kind: "server" }
  | { readonly kind: "namespace"; readonly path: NamespacePath }
  | { readonly kind: "table"; readonly id: TableId };

export const SERVER: SecuredObject = { kind: "server" };

/** The root namespace contains everything, as the server does. */
export const namespaceObject = (path: NamespacePath): SecuredObject =>
  path.length === 0 ? SERVER : { kind: "namespace", path };

export const tableObject = (id: TableId): SecuredObject => ({ kind: "table", id });

/** Names an object in a message. */
export function describeObject(object: SecuredObject): string {
  if (object.kind === "server") return "the server";
  return object.kind === "table"
    ? `table ${formatPath(object.id)}`
    : `namespace ${formatPath(object.path)}`;
}

/** An object as commands and the audit log name it: `server`, `namespace:a$b` or `table:a$b$t`. */
export function objectText(object: SecuredObject): string {
  if (object.kind === "server") return "server";
  return `${object.kind}:${(object.kind === "table" ? object.id : object.path).join("$")}`;
}

/**
 * One privilege of one subject on one object. `filter`: SQL; the privilege applies to the rows for which it is true. A
 * privilege without a filter on the same object, or on one that contains it, applies to all rows.
 */
export interface Grant {
  /** `key:ID`, `user:ISSUER#SUBJECT` or `group:NAME`. */
  readonly subject: string;
  readonly object: SecuredObject;
  readonly privilege: Privilege;
  readonly filter?: string;
}

/** Selects grants. Absent members select all. */
export interface GrantFilter {
  readonly subject?: string | undefined;
  readonly object?: SecuredObject | undefined;
}

/** All privileges of one subject on one object that have the same filter, or none. */
export interface GrantEntry {
  readonly subject: string;
  readonly object: SecuredObject;
  readonly privileges: readonly Privilege[];
  /** SQL. */
  readonly filter?: string;
}

/** What authorization reads. */
export interface GrantLookup {
  /**
   * SQLite: a number that changes with each commit to the catalog. What follows from grants and records of tables holds
   * as long as the number stays the same. Undefined with Postgres.
   */
  version(): number | undefined;
  /** The grants of each subject, from memory. Undefined: only `held` can answer. */
  heldSync(subjects: readonly string[]): readonly HeldGrants[] | undefined;
  /**
   * SQLite: sees every committed grant and revocation. Postgres: the answer may be up to a second old, except for
   * changes that this server made.
   */
  held(subjects: readonly string[]): Promise<readonly HeldGrants[]>;
}

export interface Grants extends GrantLookup {
  /**
   * Grants privileges. Returns those that the subject did not have on the object with this filter. A grant replaces one
   * of the same privilege with another filter, or without one.
   *
   * @throws code 1 or 4 when the object does not exist, code 13 for a subject that is not valid or no key of the
   * catalog, and for a filter that is not possible
   */
  grant(
    subject: string,
    object: SecuredObject,
    privileges: readonly Privilege[],
    filter?: string,
  ): Promise<Privilege[]>;
  /** Revokes privileges. Returns those that were granted. @throws code 1 or 4 when the object does not exist */
  revoke(
    subject: string,
    object: SecuredObject,
    privileges: readonly Privilege[],
  ): Promise<Privilege[]>;
  /** Ordered by subject, object and filter. */
  list(filter: GrantFilter, page: PageRequest): Promise<Page<GrantEntry>>;
  /** The keys of some ids, of a name, or of a hash (hexadecimal). */
  findKeys(by: KeySelector): Promise<GrantedKey[]>;
}

export type KeySelector =
  | { readonly ids: readonly string[] }
  | { readonly name: string }
  | { readonly hash: string };

/** A key as grants name it. */
export interface GrantedKey {
  readonly id: string;
  readonly name: string;
  readonly role: "none" | "read" | "write" | "admin";
}
