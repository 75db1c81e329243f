import { decodePath, encodePath } from "../path.js";
import type { GrantRow } from "./grant-rows.js";
import {
  bitOf,
  FILTERED,
  isPrivilege,
  NO_PRIVILEGES,
  type Privilege,
  type PrivilegeSet,
} from "./privileges.js";

/** A privilege set on a table. The key tells it from a later table of the same name. */
export interface TableGrant {
  readonly key: string;
  readonly privileges: PrivilegeSet;
}

/** A privilege on the rows of a filter. It is on the server if it names neither a namespace nor a table. */
export interface FilteredGrant {
  readonly privilege: Privilege;
  /** SQL. */
  readonly filter: string;
  /** Encoded path. */
  readonly namespace: string | undefined;
  readonly tableKey: string | undefined;
}

/** The grants of one subject, by object. A set has `FILTERED` in place of privileges that have a filter. */
export class HeldGrants {
  server: PrivilegeSet = NO_PRIVILEGES;
  /** By encoded path. */
  readonly namespaces = new Map<string, PrivilegeSet>();
  /** By encoded identifier. */
  readonly tables = new Map<string, TableGrant>();
  /** Encoded paths of the namespaces that contain an object with a grant. */
  readonly parents = new Set<string>();
  readonly filtered: FilteredGrant[] = [];

  constructor(rows: readonly GrantRow[]) {
    for (const row of rows) this.#add(row);
  }

  get isEmpty(): boolean {
    return this.server === NO_PRIVILEGES && this.namespaces.size === 0 && this.tables.size === 0;
  }

  #add(row: GrantRow): void {
    const { namespace, table_key, table_namespace, table_name } = row;
    const bit = this.#bitOf(row);
    if (table_key !== null) {
      // The table is dropped, and its grants are about to be deleted.
      if (table_namespace === null || table_name === null) return;
      const id = encodePath([...decodePath(table_namespace), table_name]);
      const privileges = (this.tables.get(id)?.privileges ?? NO_PRIVILEGES) | bit;
      this.tables.set(id, { key: table_key, privileges });
      this.#addParents(table_namespace);
    } else if (namespace !== null) {
      this.namespaces.set(namespace, (this.namespaces.get(namespace) ?? NO_PRIVILEGES) | bit);
      this.#addParents(namespace);
    } else {
      this.server |= bit;
    }
  }

  #bitOf({ privilege, row_filter, namespace, table_key }: GrantRow): PrivilegeSet {
    // A newer joust may have stored a privilege that this one does not know.
    if (!isPrivilege(privilege)) return NO_PRIVILEGES;
    if (row_filter === null) return bitOf(privilege);
    this.filtered.push({
      privilege,
      filter: row_filter,
      namespace: namespace ?? undefined,
      tableKey: table_key ?? undefined,
    });
    return FILTERED;
  }

  /** Adds a namespace and all that contain it. */
  #addParents(encoded: string): void {
    const path = decodePath(encoded);
    for (let depth = 1; depth <= path.length; depth++) {
      this.parents.add(encodePath(path.slice(0, depth)));
    }
  }
}
