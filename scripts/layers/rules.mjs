/**
 * The layers of joust: which module may import which. The first layer of a list is the lowest.
 *
 * A Rust module imports only from its own layer and from lower ones. A folder of `src/` names the
 * folders that it may import. ARCHITECTURE.md gives the reasons.
 */

/** Top modules of joust-core by layer, the lowest layer first. */
export const RUST_LAYERS = [
  {
    layer: "foundation",
    modules: [
      "deadline",
      "error",
      "json",
      "lease",
      "names",
      "memory",
      "memo",
      "planning",
      "state",
      "steps",
      "work",
    ],
  },
  { layer: "storage", modules: ["storage", "durability", "one_thread", "root"] },
  { layer: "schema", modules: ["schema"] },
  { layer: "tables", modules: ["table", "commit", "ipc"] },
  { layer: "caches", modules: ["cache", "rows"] },
  { layer: "indexes", modules: ["vector", "nearest", "text", "scalar", "index"] },
  { layer: "query", modules: ["query", "sql"] },
  { layer: "jobs", modules: ["jobs", "backfill", "maintain", "prewarm", "view"] },
  { layer: "engine", modules: ["engine"] },
];

/** What every folder may import: errors, small functions of the language, the engine's types. */
const FOUNDATION = [
  "errors",
  "extended",
  "in-flight",
  "concurrently",
  "loopback",
  "native",
  "platform",
  "telemetry",
];
const SERVICES = ["catalog", "cluster", "jobs", "maintenance", "engine", "transactions", "uploads"];
const API = ["api", "requests", "dialects", "openapi"];

/** Folders (and single files) of `src/` with the other ones that each may import. */
export const TYPESCRIPT_IMPORTS = new Map([
  ["errors", []],
  ["extended", []],
  ["in-flight", []],
  ["concurrently", []],
  ["loopback", []],
  ["native", []],
  ["platform", []],
  ["telemetry", FOUNDATION],
  ["engine", FOUNDATION],
  ["catalog", FOUNDATION],
  ["cluster", [...FOUNDATION, "catalog"]],
  ["transactions", [...FOUNDATION, "catalog"]],
  ["uploads", [...FOUNDATION, "catalog", "engine"]],
  ["jobs", [...FOUNDATION, "catalog", "cluster", "engine"]],
  ["maintenance", [...FOUNDATION, "catalog", "cluster", "jobs", "engine"]],
  ["prewarm", [...FOUNDATION, "catalog", "jobs", "engine"]],
  ["api", [...FOUNDATION, ...SERVICES]],
  ["requests", [...FOUNDATION, "api", "catalog"]],
  ["dialects", [...FOUNDATION, "api", "operations"]],
  ["openapi", [...FOUNDATION, "api"]],
  ["operations", [...FOUNDATION, ...SERVICES, ...API, "prewarm"]],
  ["auth", [...FOUNDATION, "catalog"]],
  ["http", [...FOUNDATION, ...API, "auth"]],
  ["threads", [...FOUNDATION, ...API, "http"]],
  ["config", FOUNDATION],
  ["demo", FOUNDATION],
]);

/** Folders that put the others together and may import all of them. */
export const TYPESCRIPT_TOP = ["cli", "services"];
