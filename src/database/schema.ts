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
  /** 1: adopted from the root, where a manifest may still list it. */
  found: 0 | 1;
  created_at: number;
}

/** Adopted namespaces that were dropped: joust ignores them in the root's manifest. */
export interface DroppedNamespacesRow {
  path: string;
}

/** Names of all namespaces that the root has or had: a name in this table never selects the root again. */
export interface DatabasesRow {
  name: string;
}

export interface TablesRow {
  key: string;
  /** Null for a dropped table: its name is free. */
  namespace: string | null;
  name: string;
  /** Unique among all rows: a dropped table keeps its location until its files are removed. */
  location: string;
  state: "reserved" | "live" | "dropped";
  /** JSON text. */
  properties: string;
  /** JSON text. */
  storage_options: string;
  /** 1: a live table without a known version, only a name and a location; 2: `owner` writes its first version. */
  declared: Generated<0 | 1 | 2>;
  /** The server that writes (reserved, declared 2) or removes (dropped) its files. */
  owner: string;
  created_at: number;
  /** The id of the caller that created it. Null: joust adopted it, or a version without this column made it. */
  creator: string | null;
}

/** Locations of deregistered tables: neither adoption nor a new table may use them. */
export interface DeregisteredLocationsRow {
  location: string;
}

/** Transaction records whose ids do not hold everything; see src/api/transactions. */
export interface TransactionsRow {
  /** The id of the job, if the work is a job. */
  id: string;
  /** Of work without a job, or of a job that is deleted. */
  status: "Queued" | "Running" | "Succeeded" | "Failed" | "Canceled";
  /** JSON text. */
  properties: string;
  created_at: number;
}

export interface JobsRow {
  id: string;
  kind: string;
  table_key: string;
  /** At most one active job of a table has the name. */
  name: string;
  /** JSON text. */
  spec: string;
  state: "QUEUED" | "RUNNING" | "DONE" | "FAILED" | "CANCELLED";
  /** JSON text. */
  progress: string | null;
  error_code: number | null;
  error_message: string | null;
  /** JSON text. */
  result: string | null;
  /** JSON text: the rows that the job failed on. */
  errors: string | null;
  /** The server that runs it. */
  owner: string | null;
  /** 1: stays in the queue until it is resumed. */
  paused: Generated<0 | 1>;
  /** Number of starts. */
  attempts: number;
  created_at: number;
  updated_at: number;
}

/** A multipart write; see src/multipart. */
export interface UploadsRow {
  id: string;
  table_key: string;
  /** "" is the main branch. */
  branch: string;
  /** The version that the parts are based on. */
  version: number;
  /** Null before the first part. */
  overwrite: 0 | 1 | null;
  /** Abandoned: the files of its parts are to be removed, then this row. */
  state: "open" | "committing" | "done" | "abandoned";
  /** The server that commits it. */
  owner: string | null;
  /** The committed version. */
  result: number | null;
  /** When a part last began or ended. */
  touched_at: number;
}

export interface UploadPartsRow {
  id: string;
  upload_id: string;
  /** The client's name. Null after another part replaced this one: its files are to be removed. */
  name: string | null;
  /** Base64 of the description that the engine returned. */
  contents: string;
}

/** A request with an idempotency key; see src/api/idempotency. */
export interface RequestsRow {
  /** Derived from the key. */
  id: string;
  fingerprint: string;
  attempt: string;
  /** The server that handles it. Null when none does, or when it is done. */
  owner: string | null;
  /** JSON text of the reply. Null before there is one. */
  reply: string | null;
  created_at: number;
}

export interface ApiKeysRow {
  id: string;
  name: string;
  role: "none" | "read" | "write" | "admin";
  /** SHA-256 of the key, hexadecimal. */
  hash: string;
  created_at: number;
  /** When the current key was made. Null before the first rotation. */
  issued_at: number | null;
  /** Null: the key does not expire. */
  expires_at: number | null;
  /** To about a minute. */
  last_used_at: number | null;
}

/** Keys that a rotation replaced. They are valid until they expire. */
export interface FormerApiKeysRow {
  /** SHA-256 of the former key, hexadecimal. */
  hash: string;
  key_id: string;
  expires_at: number;
}

/** The cluster members. */
export interface ServersRow {
  id: string;
  /** After this time others may take over what the server owns. */
  alive_until: number;
}

/** Removal acknowledgements: the server no longer works on a dropped table. */
export interface RemovalAcknowledgementsRow {
  table_key: string;
  server: string;
}

/** Leases: work that one server does for all. */
export interface LeasesRow {
  name: string;
  owner: string;
  /** Time of the last grant. */
  done_at: number;
}

/** Shared secrets of the servers of this catalog. */
export interface SecretsRow {
  name: string;
  /** Hexadecimal. */
  value: string;
}

/** Proposals of version clean-ups. */
export interface CleanUpsRow {
  id: string;
  table_key: string;
  server: string;
  /** JSON: their numbers. */
  versions: string;
}

/** Versions that another server needs. */
export interface CleanUpAnswersRow {
  clean_up: string;
  server: string;
  /** JSON: their numbers. */
  kept: string;
}

/** Properties of the catalog itself, such as its root. */
export interface SettingsRow {
  name: string;
  value: string;
}

/** Locks of the tags and branches of tables. */
export interface ReferenceLocksRow {
  table_key: string;
  owner: string;
  /** A new one for each lock. */
  token: string;
}

/** Requests to pause commits to a branch. */
export interface CommitPausesRow {
  server: string;
  table_key: string;
  /** Empty: the main branch. */
  branch: string;
}

/** Grants; see src/catalog/grants. */
export interface GrantsRow {
  /** `key:ID`, `user:ISSUER#SUBJECT` or `group:NAME`. */
  subject: string;
  /** `server`, `namespace:` and the path, or `table:` and the key. */
  object: string;
  privilege: string;
  /** The path, if the object is a namespace. */
  namespace: string | null;
  /** The key, if the object is a table. */
  table_key: string | null;
  /** SQL: the privilege applies to the rows for which it is true. Null: to all rows. */
  row_filter: string | null;
  created_at: number;
}

export interface AutoRefreshesRow {
  table_key: string;
  /** Empty: the table is a view. */
  column_name: string;
  interval_ms: number;
  /** 1: the table's properties turn maintenance on, also for servers with maintenance off. */
  always: number;
  /** When a server checks it the next time, ms since the epoch by the database's clock. */
  check_at: number;
  /** JSON. */
  state: string;
}

/** A shallow clone: a table that reads files of another one; see src/catalog/tables/clones.ts. */
export interface ClonesRow {
  /** Of the clone. */
  location: string;
  /** The location of the table whose files it reads. */
  source: string;
  /** The tag that keeps these files in the source. */
  tag: string;
}

export interface CatalogSchema {
  namespaces: NamespacesRow;
  dropped_namespaces: DroppedNamespacesRow;
  databases: DatabasesRow;
  tables: TablesRow;
  deregistered_locations: DeregisteredLocationsRow;
  transactions: TransactionsRow;
  jobs: JobsRow;
  uploads: UploadsRow;
  upload_parts: UploadPartsRow;
  requests: RequestsRow;
  api_keys: ApiKeysRow;
  former_api_keys: FormerApiKeysRow;
  servers: ServersRow;
  removal_acknowledgements: RemovalAcknowledgementsRow;
  leases: LeasesRow;
  secrets: SecretsRow;
  settings: SettingsRow;
  clean_ups: CleanUpsRow;
  clean_up_answers: CleanUpAnswersRow;
  reference_locks: ReferenceLocksRow;
  commit_pauses: CommitPausesRow;
  grants: GrantsRow;
  auto_refreshes: AutoRefreshesRow;
  clones: ClonesRow;
}
