import type { DroppedTable } from "../cluster/removal-acknowledgements.js";

/** The names joust knows: namespaces, tables, jobs and keys, kept in SQL (SQLite or Postgres). */

export type NamespacePath = readonly string[];
export type TableId = readonly string[];

export interface NamespaceRecord {
  path: string[];
  properties: Record<string, string>;
}

export interface TableRecord {
  /** Stable for the table's life, also across renames. */
  key: string;
  id: string[];
  location: string;
  properties: Record<string, string>;
  storageOptions: Record<string, string>;
  /** Only a name and a location so far: nobody here has seen a version of it. */
  declared: boolean;
}

/** A table to declare. Without a location the catalog chooses one. */
export interface Declaration {
  id: TableId;
  location?: string | undefined;
  /** See `reserveTable`. */
  taken?: boolean | undefined;
  properties: Record<string, string>;
}

export interface PageRequest {
  limit?: number;
  /** Opaque; given out by an earlier page. A forged one is invalid input (code 13). */
  pageToken?: string;
  /** Tables that other tools put into the root before this time must be there, ms since the epoch. */
  minTimestampMillis?: number;
}
export interface Page<T> {
  items: T[];
  pageToken?: string;
}

export interface Catalog {
  /** mode exist_ok keeps what is there; overwrite empties it first: `emptied` are the tables whose files the caller must remove. */
  createNamespace(
    path: NamespacePath,
    mode: "create" | "exist_ok" | "overwrite",
    properties: Record<string, string>,
  ): Promise<{ namespace: NamespaceRecord; emptied: TableRecord[] }>;
  /** Code 1 when absent. The root ([]) always exists. */
  describeNamespace(path: NamespacePath): Promise<NamespaceRecord>;
  listNamespaces(parent: NamespacePath, page: PageRequest): Promise<Page<string>>;
  /** restrict: code 3 when not empty. Null when absent and `skip`. */
  dropNamespace(
    path: NamespacePath,
    options: { missing: "fail" | "skip"; behavior: "restrict" | "cascade" },
  ): Promise<{ namespace: NamespaceRecord; emptied: TableRecord[] } | null>;

  /** The live table of that name; code 1 or 4 when there is none. Answers from memory when nothing changed. */
  table(id: TableId): Promise<TableRecord>;
  /** The same without a promise when memory can answer for sure; undefined otherwise. */
  tableSync(id: TableId): TableRecord | undefined;
  /** The live table of that key, whatever its name by now. */
  tableByKey(key: string): Promise<TableRecord | undefined>;
  /** The live table whose files are there. */
  tableAt(location: string): Promise<TableRecord | undefined>;
  /** `declared` false leaves tables out that are only declared. */
  listTables(
    parent: NamespacePath,
    page: PageRequest,
    options?: { declared: boolean },
  ): Promise<Page<string>>;
  /** Over all namespaces; full identifiers. */
  listAllTables(page: PageRequest, options?: { declared: boolean }): Promise<Page<string[]>>;
  /**
   * Takes the name: nobody else can, and nobody sees a table yet. Code 1 without the parent, 5 when taken.
   * `taken`: something is where the name alone would put the table; without it the catalog looks at local disks.
   */
  reserveTable(
    id: TableId,
    options: {
      properties: Record<string, string>;
      storageOptions: Record<string, string>;
      key?: string;
      taken?: boolean;
    },
  ): Promise<TableRecord>;
  /** True once in `interval` ms, over all servers: then it is this one's turn. */
  takeLease(name: string, interval: number): Promise<boolean>;
  /**
   * Resolves when this server alone may change a table's tags and branches; see reference-locks.ts. Code 14
   * when the table is dropped, 17 when another server takes too long.
   */
  lockReferences(key: string): Promise<void>;
  /** Once for each `lockReferences` that resolved. */
  unlockReferences(key: string): void;
  /** Tables that other servers dropped and that this one has not left; see departures.ts. */
  removalsToAcknowledge(): Promise<DroppedTable[]>;
  /** This server works on a dropped table no more. */
  acknowledgeRemoval(key: string): Promise<void>;
  /** Resolves when no other server works on a dropped table. Code 17 when one takes too long. */
  awaitRemovalAcknowledgements(key: string): Promise<void>;
  /** The reserved table becomes visible. Code 14 when its namespace was dropped meanwhile. */
  publishTable(key: string): Promise<void>;
  /**
   * Gives up a name whose table could not be made; its files are then removed by the caller, who calls
   * `releaseTable`. False when the files must stay: the table is live after all (the answer to its
   * publication was lost), or another server has taken it over.
   */
  withdrawTable(key: string): Promise<boolean>;
  /** Nothing is left of a table that was reserved. */
  releaseTable(key: string): Promise<void>;
  setTableProperties(key: string, properties: Record<string, string>): Promise<void>;
  /** Sets some and keeps the others, also those that somebody else sets meanwhile; gives back all. */
  mergeTableProperties(
    key: string,
    properties: Record<string, string>,
  ): Promise<Record<string, string>>;
  /**
   * Declares tables and takes others out of the catalog, their files staying where they are: all
   * or nothing. Code 1 without a parent, 4 without a table, 5 when a name or a location is taken.
   */
  changeTables(changes: {
    declare?: readonly Declaration[];
    deregister?: readonly TableId[];
  }): Promise<{ declared: TableRecord[]; deregistered: TableRecord[] }>;
  /**
   * Gives files that are a table's a name. Code 5 when the name is taken, unless `replace` says to
   * take it over (`replaced`, whose files stay), or when the location is another table's.
   */
  registerTable(
    table: Declaration & { location: string },
    options: { replace: boolean },
  ): Promise<{ table: TableRecord; replaced?: TableRecord }>;
  /**
   * Takes the right to write a declared table's first version; false when somebody else has it, or
   * when there is a version. Ends with `confirmTable` or `releaseFirstVersion`.
   */
  claimFirstVersion(key: string): Promise<boolean>;
  /** Does not fail: see sure-writes.ts. */
  releaseFirstVersion(key: string): Promise<void>;
  /** A declared table has a version now. */
  confirmTable(key: string): Promise<void>;
  /**
   * Hides the table and cancels its jobs at once; its files are then removed by the caller, who
   * calls `forgetTable`. With a key, only the table of that key: another one of its name stays.
   */
  dropTable(id: TableId, key?: string): Promise<TableRecord>;
  /** The files are gone: nothing is left of the table. */
  forgetTable(key: string): Promise<void>;
  /**
   * The files of a reserved or dropped table could not be removed: frees the name, and leaves the
   * files to whoever asks for unfinished tables next. Does not fail: see sure-writes.ts.
   */
  orphanTable(key: string): Promise<void>;
  /** Moves no files. Code 1 when the target namespace is absent, 5 when the name is taken. */
  renameTable(id: TableId, target: TableId): Promise<TableRecord>;
  /**
   * What was abandoned, and what servers that are gone left reserved or dropped; from now on this
   * server's to remove and forget. The tables are in no namespace any more: `id` is only the name.
   */
  claimOrphanedTables(): Promise<TableRecord[]>;
}
