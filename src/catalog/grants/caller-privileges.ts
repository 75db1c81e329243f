import { ErrorCode, hasCode } from "../../foundation/errors.js";
import type { Catalog, NamespacePath, TableId, TableRecord } from "../catalog.js";
import { encodePath } from "../path.js";
import type { SecuredObject } from "./grants.js";
import type { HeldGrants, TableGrant } from "./held-grants.js";
import {
  bitOf,
  covers,
  FILTERED,
  NO_PRIVILEGES,
  type Privilege,
  type PrivilegeSet,
} from "./privileges.js";
import type { FullyVisible, VisibleObjects } from "./visible-objects.js";

type TableLookup = Pick<Catalog, "table" | "tableSync">;

/**
 * The privileges of one caller: those of its role on the server, and those that grants give to its subjects. An object
 * is visible to the caller if the caller has any privilege on it. A namespace is also visible if something in it is.
 */
export class CallerPrivileges {
  readonly #server: PrivilegeSet;

  constructor(
    /** The privileges that the role of the caller gives. */
    role: PrivilegeSet,
    private readonly held: readonly HeldGrants[],
  ) {
    this.#server = held.reduce((set, { server }) => set | server, role);
  }

  /** The privileges on a namespace: its grants and those of all that contain it. */
  onNamespace(path: NamespacePath): PrivilegeSet {
    let set = this.#server;
    for (let depth = 1; depth <= path.length; depth++) {
      const encoded = encodePath(path.slice(0, depth));
      for (const { namespaces } of this.held) set |= namespaces.get(encoded) ?? NO_PRIVILEGES;
    }
    return set;
  }

  /** The privileges on a table. Undefined: only `onTable` can answer. */
  onTableSync(id: TableId, catalog: Pick<TableLookup, "tableSync">): PrivilegeSet | undefined {
    const inherited = this.onNamespace(id.slice(0, -1));
    const grants = this.#tableGrants(id);
    if (grants.length === 0) return inherited;
    const record = catalog.tableSync(id);
    return record && inherited | ofKey(grants, record.key);
  }

  /** The privileges on a table. Grants on a former table of that name do not count. */
  async onTable(id: TableId, catalog: TableLookup): Promise<PrivilegeSet> {
    const now = this.onTableSync(id, catalog);
    if (now !== undefined) return now;
    const inherited = this.onNamespace(id.slice(0, -1));
    try {
      const { key } = await catalog.table(id);
      return inherited | ofKey(this.#tableGrants(id), key);
    } catch (error) {
      const missing = [ErrorCode.TableNotFound, ErrorCode.NamespaceNotFound];
      if (missing.some((code) => hasCode(error, code))) return inherited;
      throw error;
    }
  }

  async on(object: SecuredObject, catalog: TableLookup): Promise<PrivilegeSet> {
    if (object.kind === "server") return this.#server;
    return object.kind === "table"
      ? this.onTable(object.id, catalog)
      : this.onNamespace(object.path);
  }

  seesNamespace(path: NamespacePath): boolean {
    if (path.length === 0 || this.onNamespace(path) !== NO_PRIVILEGES) return true;
    const encoded = encodePath(path);
    return this.held.some(({ parents }) => parents.has(encoded));
  }

  /** The filters of a privilege on a table: it applies to a row if one of them is true. */
  filtersOn({ id, key }: Pick<TableRecord, "id" | "key">, privilege: Privilege): string[] {
    const parents = new Set<string>();
    for (let depth = 1; depth < id.length; depth++) parents.add(encodePath(id.slice(0, depth)));
    const grants = this.held.flatMap(({ filtered }) => filtered);
    const onTable = grants.filter(({ namespace, tableKey }) => {
      if (tableKey !== undefined) return tableKey === key;
      return namespace === undefined || parents.has(namespace);
    });
    const own = onTable.filter((grant) => grant.privilege === privilege);
    return [...new Set(own.map(({ filter }) => filter))];
  }

  /** Undefined: everything is visible. */
  visible(): VisibleObjects | undefined {
    return this.#objectsWith((set) => set !== NO_PRIVILEGES);
  }

  /** As `visible`, without the tables of which the caller reads some rows only. */
  visibleWithAllRows(): FullyVisible | undefined {
    // A filter and the privilege `select` may be on different objects that contain a table.
    const allRows = this.#objectsWith((set) => covers(set, bitOf("select")));
    if (!allRows) return undefined;
    const filtered = this.#objectsWith((set) => covers(set, FILTERED));
    return { allRows, any: this.visible(), filtered };
  }

  #objectsWith(fits: (set: PrivilegeSet) => boolean): VisibleObjects | undefined {
    if (fits(this.#server)) return undefined;
    const all = <T>(of: (held: HeldGrants) => Iterable<T>) => [
      ...new Set(this.held.flatMap((held) => [...of(held)])),
    ];
    return {
      namespaces: all(({ namespaces }) =>
        [...namespaces].filter(([, set]) => fits(set)).map(([path]) => path),
      ),
      parents: all(({ parents }) => parents),
      tables: all(({ tables }) =>
        [...tables.values()].filter(({ privileges }) => fits(privileges)).map(({ key }) => key),
      ),
    };
  }

  #tableGrants(id: TableId): TableGrant[] {
    const encoded = encodePath(id);
    const grants: TableGrant[] = [];
    for (const { tables } of this.held) {
      const grant = tables.get(encoded);
      if (grant) grants.push(grant);
    }
    return grants;
  }
}

const ofKey = (grants: readonly TableGrant[], key: string): PrivilegeSet =>
  grants.reduce((set, grant) => (grant.key === key ? set | grant.privileges : set), NO_PRIVILEGES);
