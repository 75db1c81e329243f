/** The catalog: namespaces and tables by name, stored in SQL (SQLite or Postgres). */
import type { DroppedTable } from "../cluster/removal-acknowledgements.js";
import type { VisibleObjects } from "./grants/visible-objects.js";

export type NamespacePath = readonly string[];
export type TableId = readonly string[];

export interface NamespaceRecord {
  path: string[];
  properties: Record<string, string>;
}

export interface TableRecord {
  /** Stays the same until the table is dropped, also across renames. */
  key: string;
  id: string[];
  location: string;
  properties: Record<string, string>;
  storageOptions: Record<string, string>;
  /** The table has only a name and a location: no version of it is known. */
  declared: boolean;
  /** The id of the caller that created it; null if that is not known. No reply contains it. */
  creator: string | null;
  /** Present if the caller of the request may not use all rows. The catalog never sets it. */
  restriction?: RowRestriction;
}

/** What the caller of a request may use of a table. */
export interface RowRestriction {
  /** SQL: the rows for which one of them is true. Absent: the request uses no rows. */
  readonly filters?: readonly string[];
}

/** A table to declare. Without a location the catalog chooses one. */
export interface Declaration {
  id: TableId;
  location?: string | undefined;
  /** See `ReserveOptions`. */
  isLocationTaken?: boolean | undefined;
  properties: Record<string, string>;
  /** See `TableRecord`. */
  creator: string | null;
}

export interface ReserveOptions {
  properties: Record<string, string>;
  storageOptions: Record<string, string>;
  /** See `TableRecord`. */
  creator: string | null;
  key?: string;
  /** Files exist at the default location of the name. Absent: the catalog checks local disks. */
  isLocationTaken?: boolean;
  /** The table is a shallow clone of this one. */
  source?: TableRecord;
}

/** What a shallow clone reads. */
export interface CloneSource {
  /** Of the table that has the files. It may be dropped or deregistered: its files stay. */
  readonly location: string;
  /** The tag that keeps the files there. */
  readonly tag: string;
}

export interface PageRequest {
  limit?: number;
  /** Opaque token of an earlier page. A forged one is invalid input (code 13). */
  pageToken?: string;
  /** The listing includes tables that other tools wrote to the root before this time, ms since the epoch. */
  minTimestampMillis?: number;
}
export interface Page<T> {
  items: T[];
  pageToken?: string;
}

/** Restricts a listing of tables. */
export interface ListingOptions {
  /** False omits tables that are only declared. */
  readonly declared: boolean;
  /** Absent: all tables are visible. */
  readonly visible?: VisibleObjects;
  /** Only tables below this namespace. */
  readonly within?: NamespacePath;
  /** Only tables that this caller created. */
  readonly creator?: string;
}

/** A table is *reserved* while its first version is written, *live* when requests see it, and *dropped*. */
export interface Catalog {
  // Namespaces. The root ([]) always exists.

  /** Mode "exist_ok" changes nothing that exists. "overwrite" drops `emptied`: the caller must remove their files. */
  createNamespace(
    path: NamespacePath,
    mode: "create" | "exist_ok" | "overwrite",
    properties: Record<string, string>,
  ): Promise<{ namespace: NamespaceRecord; emptied: TableRecord[] }>;
  /** @throws code 1 when it does not exist */
  describeNamespace(path: NamespacePath): Promise<NamespaceRecord>;
  listNamespaces(
    parent: NamespacePath,
    page: PageRequest,
    options?: { visible?: VisibleObjects },
  ): Promise<Page<string>>;
  /**
   * Returns null when it does not exist and `missing` is "skip".
   *
   * @throws code 3 when it is not empty and `behavior` is "restrict"
   */
  dropNamespace(
    path: NamespacePath,
    options: { missing: "fail" | "skip"; behavior: "restrict" | "cascade" },
  ): Promise<{ namespace: NamespaceRecord; emptied: TableRecord[] } | null>;

  /** Whether the root has or had a namespace of this name. Never false again once it was true. */
  isDatabase(name: string): Promise<boolean>;
  /** Synchronous lookup in memory. Undefined: only `isDatabase` can answer. */
  isDatabaseSync(name: string): boolean | undefined;

  // Lookup of live tables.

  /** Answers from memory while nothing is committed to the catalog. @throws code 1 or 4 when there is none */
  table(id: TableId): Promise<TableRecord>;
  /** Synchronous lookup in memory. Undefined: only `table` can answer. */
  tableSync(id: TableId): TableRecord | undefined;
  /** Also finds a renamed table. */
  tableByKey(key: string): Promise<TableRecord | undefined>;
  tableAt(location: string): Promise<TableRecord | undefined>;
  listTables(
    parent: NamespacePath,
    page: PageRequest,
    options?: ListingOptions,
  ): Promise<Page<string>>;
  /** Returns the identifiers of the tables of all namespaces. */
  listAllTables(page: PageRequest, options?: ListingOptions): Promise<Page<string[]>>;

  // Creation of a table: reserve, write the first version, then activate or withdraw.

  /**
   * Reserves the name; requests do not see the table. With `source`, the files of that table stay until this one is
   * removed.
   *
   * @throws code 1 without the parent, 4 when the source is dropped, 5 when the name exists
   */
  reserveTable(id: TableId, options: ReserveOptions): Promise<TableRecord>;
  /** Makes a reserved table live. @throws code 14 when its namespace was dropped meanwhile */
  activateTable(key: string): Promise<void>;
  /**
   * Frees the name of a table that could not be created. The caller then removes its files and calls `releaseTable`.
   * Returns false when the files must stay: the table is live (the reply to `activateTable` was lost), or another
   * server has claimed it.
   */
  withdrawTable(key: string): Promise<boolean>;
  /** Deletes a reserved table whose files are removed, unless another server has claimed it. */
  releaseTable(key: string): Promise<void>;

  // Shallow clones.

  /** Undefined: the table at a location is no shallow clone. */
  cloneSource(location: string): Promise<CloneSource | undefined>;
  /** Whether shallow clones read files of the table at a location; with a tag, whether one needs that tag. */
  hasClones(location: string, tag?: string): Promise<boolean>;

  // Changes of live tables.

  setTableProperties(key: string, properties: Record<string, string>): Promise<void>;
  /** Sets some properties and keeps all others, also those of concurrent changes. Returns all properties. */
  mergeTableProperties(
    key: string,
    properties: Record<string, string>,
  ): Promise<Record<string, string>>;
  /** Moves no files. @throws code 1 when the target namespace does not exist, 5 when the name exists */
  renameTable(id: TableId, target: TableId): Promise<TableRecord>;
  /**
   * Renames a table, and drops the table `key` that has the new name: both or neither. Returns the dropped table, whose
   * files the caller removes; undefined when it was dropped before.
   *
   * @throws code 1 when the target namespace does not exist, 4 without the table `id`, 5 when another table has the name
   */
  replaceTable(id: TableId, target: TableId, key: string): Promise<TableRecord | undefined>;

  // Registration of tables whose files exist or are written by clients.

  /**
   * Declares tables and deregisters others without a change of their files: all or nothing.
   *
   * @throws code 1 without a parent, 4 without a table, 5 when a name or a location is in use
   */
  changeTables(changes: {
    declare?: readonly Declaration[];
    deregister?: readonly TableId[];
  }): Promise<{ declared: TableRecord[]; deregistered: TableRecord[] }>;
  /**
   * Registers existing files as a table. With `replace`, the table of that name is `replaced`; its files stay. A table
   * that has the location already gets other properties and keeps its creator.
   *
   * @throws code 5 when the name exists and `replace` is false, or when the location belongs to another table
   */
  registerTable(
    table: Declaration & { location: string },
    options: { replace: boolean },
  ): Promise<{ table: TableRecord; replaced?: TableRecord }>;
  /**
   * Claims the right to write the first version of a declared table. Returns false when another request has it, or
   * when there is a version. Ends with `confirmTable` or `releaseFirstVersion`.
   */
  claimFirstVersion(key: string): Promise<boolean>;
  /** Does not reject: see retry-queue.ts. */
  releaseFirstVersion(key: string): Promise<void>;
  /** Records that a declared table has a version. */
  confirmTable(key: string): Promise<void>;

  // Removal of dropped and orphaned tables.

  /**
   * Hides a table and cancels its jobs. The caller then removes its files and calls `forgetTable`. With a key, drops
   * only the table of that key.
   */
  dropTable(id: TableId, key?: string): Promise<TableRecord>;
  /**
   * Whether a dropped or withdrawn table still belongs to this server. If the lease of this server ended meanwhile,
   * another one may have removed the files, and a new table may have the location.
   */
  ownsDropped(key: string): Promise<boolean>;
  /** Deletes a dropped table whose files are removed, unless another server has claimed it. */
  forgetTable(key: string): Promise<void>;
  /**
   * Orphans a reserved or dropped table whose files could not be removed: frees its name and lets any server claim
   * the files. Does not reject: see retry-queue.ts.
   */
  orphanTable(key: string): Promise<void>;
  /**
   * Claims orphaned tables, and those that dead servers left reserved or dropped, except those whose files a clone
   * reads. The caller removes their files and calls `forgetTable`. They have no namespace any more: `id` is only the
   * name.
   */
  claimOrphanedTables(): Promise<TableRecord[]>;

  // Agreement with the other members of the cluster.

  /** Returns true for one server of the cluster in each `interval`, ms; see leases.ts. */
  takeLease(name: string, interval: number): Promise<boolean>;
  /**
   * Locks the tags and branches of a table; see reference-locks.ts.
   *
   * @throws code 14 when the table is dropped, 17 when another server holds the lock too long
   */
  lockReferences(key: string): Promise<void>;
  /** To be called once for each `lockReferences` that resolved. */
  unlockReferences(key: string): void;
  /** Returns the tables that other servers dropped and this one has not acknowledged; see removal-acknowledgements.ts. */
  removalsToAcknowledge(): Promise<DroppedTable[]>;
  /** Records that this server no longer writes to a dropped table and runs no job on it. */
  acknowledgeRemoval(key: string): Promise<void>;
  /** Waits until all other servers have acknowledged the removal of a dropped table. @throws code 17 when one takes too long */
  awaitRemovalAcknowledgements(key: string): Promise<void>;
}
