/** What a caller needs for an operation: privileges, and the objects that they apply to. */
import type { SecuredObject } from "../catalog/grants/grants.js";
import type { Privilege } from "../catalog/grants/privileges.js";

/** The object of a request, and the object that the privileges of the operation apply to. */
export type AccessObject =
  /** The table in the path. */
  | "table"
  /** The namespace in the path. */
  | "namespace"
  /** A new table at the path: its namespace. */
  | "new table"
  /** A new namespace at the path: its parent. */
  | "new namespace"
  /** The table of the job in the body. */
  | "job table"
  /** The table or namespace that the transaction in the path changed. */
  | "transaction object"
  /** Every table that the request names in its content. */
  | "named tables"
  /** Objects in the body, which `also` reads. */
  | "body"
  | "server"
  /** No object: every authenticated caller may send the request. Listings show only what is visible. */
  | "nothing";

/** Privileges that a request needs on one object. */
export interface Requirement {
  readonly object: SecuredObject;
  readonly privileges: readonly Privilege[];
  /** A privilege that has a row filter does not suffice. */
  readonly allRows?: true;
}

/**
 * What a caller needs. A table that the handler resolves by a name in the content of a request needs `select`, without
 * a declaration: see src/auth/restricted-services.ts.
 */
export interface Access<Call, Services, Reply> {
  readonly on: AccessObject;
  /** Every request needs all of them. None: it suffices that the object is visible to the caller. */
  readonly privileges: readonly Privilege[];
  /**
   * The privileges among them whose row filters the handler applies: it uses the table of the path only as `onTable`
   * passes it, or passes the filters of each named table to the engine. Empty: the reply tells nothing about rows.
   * Absent: the operation is denied to a caller whose privilege on a table has a row filter.
   */
  readonly rows?: readonly Privilege[];
  /** Further privileges that some requests need, for the role of the operation and for the description. */
  readonly sometimes?: readonly Privilege[];
  /** What the content of a request needs in addition. */
  also?(call: Call, services: Services): readonly Requirement[] | Promise<readonly Requirement[]>;
  /** The reply for a missing object if it is not a failure. */
  missingReply?(call: Call): Reply | undefined;
}

/** Access to one object. */
export const accessTo = (on: AccessObject, ...privileges: Privilege[]) => ({ on, privileges });
