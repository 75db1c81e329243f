import type { Generated } from "kysely";

/** The rows of the catalog, the same on SQLite and Postgres. Times are ms since the epoch. */

export interface NamespacesRow {
  /** See path.ts; the root has a row of its own. */
  path: string;
  /** Null for the root only. */
  parent: string | null;
  name: string;
  /** JSON text. */
  properties: string;
  /** 1: adopted from the root, where a manifest may go on listing it. */
  found: 0 | 1;
  created_at: number;
}

/** Adopted namespaces that were dropped: their listing in the root's manifest no longer counts. */
export interface DroppedNamespacesRow {
  path: string;
}

export interface TablesRow {
  key: string;
  /** Null once dropped: the table is in no namespace any more, and its name is free. */
  namespace: string | null;
  name: string;
  /** Unique among all rows: a dropped table owns its location until its files are gone. */
  location: string;
  state: "reserved" | "live" | "dropped";
  /** JSON text. */
  properties: string;
  /** JSON text. */
  storage_options: string;
  /**
   * 1: a live table that is a name and a location only, as far as anybody has looked; 2: `owner`
   * writes its first version.
   */
  declared: Generated<0 | 1 | 2>;
  /** The server that writes (reserved, declared 2) or removes (dropped) its files. */
  owner: string;
  created_at: number;
}

/** Files of tables that were deregistered: never adopted, and no new table's. */
export interface DeregisteredLocationsRow {
  location: string;
}

/** Records of what was done, where their ids do not say it all; see src/transactions. */
export interface TransactionsRow {
  /** A job's id where the work is a job. */
  id: string;
  /** Of work that is no job, or of a job that is forgotten. */
  status: "Queued" | "Running" | "Succeeded" | "Failed" | "Canceled";
  /** JSON text. */
  properties: string;
  created_at: number;
}

export interface JobsRow {
  id: string;
  kind: string;
  table_key: string;
  /** What the job makes; at most one active job per table and name. */
  name: string;
  /** JSON text. */
  spec: string;
  state: "QUEUED" | "RUNNING" | "DONE" | "FAILED" | "CANCELLED";
  /** JSON text. */
  progress: string | null;
  error_code: number | null;
  error_message: string | null;
  /** JSON text: what it came to. */
  result: string | null;
  /** JSON text: the rows that it failed on. */
  errors: string | null;
  /** The server that runs it. */
  owner: string | null;
  /** 1: waits in the queue until it is resumed. */
  paused: Generated<0 | 1>;
  /** How often it was started. */
  attempts: number;
  created_at: number;
  updated_at: number;
}

/** A write that comes in several parts; see src/uploads. */
export interface UploadsRow {
  id: string;
  table_key: string;
  /** "" is the main branch. */
  branch: string;
  /** The version that the parts are written against. */
  version: number;
  /** Null until the first part says. */
  overwrite: 0 | 1 | null;
  /** Abandoned: its parts' files are to be removed, then this row. */
  state: "open" | "committing" | "done" | "abandoned";
  /** The server that commits it. */
  owner: string | null;
  /** The version that the commit made. */
  result: number | null;
  /** When a part last began or ended. */
  touched_at: number;
}

export interface UploadPartsRow {
  id: string;
  upload_id: string;
  /** The client's name of it; null once another part took its place: its files are to be removed. */
  name: string | null;
  /** Base64 of what the engine needs to know of it. */
  contents: string;
}

/** A request that takes effect once; see src/requests. */
export interface RequestsRow {
  /** Made of its key. */
  id: string;
  fingerprint: string;
  attempt: string;
  /** The server that is at it; null when none is, or when it is done. */
  owner: string | null;
  /** JSON text: what was answered; null before that. */
  reply: string | null;
  created_at: number;
}

export interface ApiKeysRow {
  id: string;
  name: string;
  role: "read" | "write" | "admin";
  /** SHA-256 of the key, hexadecimal. */
  hash: string;
  created_at: number;
}

/** Servers at work on this catalog. */
export interface ServersRow {
  id: string;
  /** What the server owns is free for others after this time. */
  alive_until: number;
}

/** A server that works no more on a dropped table. */
export interface DeparturesRow {
  table_key: string;
  server: string;
}

/** What one server at a time does for all. */
export interface DutiesRow {
  name: string;
  owner: string;
  /** When it was last done. */
  done_at: number;
}

/** What only the servers of this catalog know. */
export interface SecretsRow {
  name: string;
  /** Hexadecimal. */
  value: string;
}

/** Versions of a table that a server is about to remove. */
export interface CleanUpsRow {
  id: string;
  table_key: string;
  server: string;
  /** JSON: their numbers. */
  versions: string;
}

/** Which of them another server needs. */
export interface CleanUpAnswersRow {
  clean_up: string;
  server: string;
  /** JSON: their numbers. */
  kept: string;
}

/** What the catalog knows of itself. */
export interface SettingsRow {
  name: string;
  value: string;
}

/** The server that changes a table's tags and branches. */
export interface ReferenceLocksRow {
  table_key: string;
  owner: string;
  /** Another one each time that the lock is taken. */
  token: string;
}

/** A branch that a server asks the others not to commit to. */
export interface CommitPausesRow {
  server: string;
  table_key: string;
  /** Empty: the main branch. */
  branch: string;
}

export interface CatalogSchema {
  namespaces: NamespacesRow;
  dropped_namespaces: DroppedNamespacesRow;
  tables: TablesRow;
  deregistered_locations: DeregisteredLocationsRow;
  transactions: TransactionsRow;
  jobs: JobsRow;
  uploads: UploadsRow;
  upload_parts: UploadPartsRow;
  requests: RequestsRow;
  api_keys: ApiKeysRow;
  servers: ServersRow;
  departures: DeparturesRow;
  duties: DutiesRow;
  secrets: SecretsRow;
  settings: SettingsRow;
  clean_ups: CleanUpsRow;
  clean_up_answers: CleanUpAnswersRow;
  reference_locks: ReferenceLocksRow;
  commit_pauses: CommitPausesRow;
}
