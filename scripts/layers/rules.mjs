/**
 * The layers of joust: which module may import which other ones. ARCHITECTURE.md gives the reasons.
 * The lowest layer stands first, so that each list reads from the bottom to the top.
 */

/** Top modules of joust-core. A module imports from its own layer and from lower layers. */
export const RUST_LAYERS = {
  foundation: [
    "blocking_executor",
    "deadline",
    "error",
    "functions",
    "json",
    "lease",
    "names",
    "memory",
    "plan_format",
    "planning",
    "trace",
    "version_key",
    "weighted_cache",
    "work",
  ],
  storage: ["storage"],
  schema: ["schema"],
  tables: ["table", "commit", "ipc"],
  caches: ["cache"],
  indexes: ["vector", "text", "index"],
  query: ["query", "sql"],
  jobs: ["jobs"],
  engine: ["engine"],
};

const FOUNDATION = ["foundation", "native", "telemetry"];
const CATALOG = [...FOUNDATION, "config", "engine", "database", "cluster", "catalog"];
const JOBS = [...CATALOG, "tables", "multipart", "jobs"];
const SERVICES = [...JOBS, "maintenance", "prewarm", "limits"];
const SERVER = [...SERVICES, "api", "auth", "operations", "http", "flight", "threads", "demo"];

/** Folders of `src/`, and `native` for the addon. A folder imports only what its list names. */
export const TYPESCRIPT_IMPORTS = {
  foundation: [],
  native: [],
  telemetry: ["foundation"],
  config: FOUNDATION,
  engine: FOUNDATION,
  database: FOUNDATION,
  cluster: [...FOUNDATION, "database"],
  catalog: [...FOUNDATION, "database", "cluster"],
  tables: CATALOG,
  multipart: [...CATALOG, "tables"],
  jobs: [...CATALOG, "multipart"],
  maintenance: JOBS,
  prewarm: [...CATALOG, "tables"],
  limits: JOBS,
  api: SERVICES,
  auth: [...FOUNDATION, "config", "catalog", "tables", "jobs", "api"],
  operations: [...SERVICES, "api"],
  http: [...FOUNDATION, "config", "engine", "tables", "limits", "auth", "api"],
  flight: [
    ...FOUNDATION,
    "config",
    "catalog",
    "engine",
    "tables",
    "limits",
    "auth",
    "api",
    "operations",
    "http",
  ],
  threads: [...FOUNDATION, "api"],
  demo: FOUNDATION,
  server: SERVER,
  cli: [...SERVER, "server"],
};
