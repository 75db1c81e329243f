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
      "blocking_executor",
      "deadline",
      "error",
      "json",
      "lease",
      "names",
      "memory",
      "plan_format",
      "planning",
      "version_key",
      "weighted_cache",
      "work",
    ],
  },
  { layer: "storage", modules: ["storage"] },
  { layer: "schema", modules: ["schema"] },
  { layer: "tables", modules: ["table", "commit", "ipc"] },
  { layer: "caches", modules: ["cache"] },
  { layer: "indexes", modules: ["vector", "text", "index"] },
  { layer: "query", modules: ["query", "sql"] },
  { layer: "jobs", modules: ["jobs"] },
  { layer: "engine", modules: ["engine"] },
];

/** Folders of `src/`, the lowest first, with the other ones that each may import. */
const FOUNDATION = ["foundation", "native", "telemetry"];
const NAMES = [...FOUNDATION, "config", "engine", "database", "cluster", "catalog"];
const WORK = [...NAMES, "tables", "multipart", "jobs"];

export const TYPESCRIPT_IMPORTS = new Map([
  ["foundation", []],
  ["native", []],
  ["telemetry", ["foundation"]],
  ["config", FOUNDATION],
  ["engine", FOUNDATION],
  ["database", FOUNDATION],
  ["cluster", [...FOUNDATION, "database"]],
  ["catalog", [...FOUNDATION, "database", "cluster"]],
  ["tables", NAMES],
  ["multipart", [...NAMES, "tables"]],
  ["jobs", [...NAMES, "multipart"]],
  ["maintenance", WORK],
  ["prewarm", [...NAMES, "tables"]],
  ["api", [...WORK, "maintenance", "prewarm"]],
  ["auth", [...FOUNDATION, "catalog", "api"]],
  ["operations", [...WORK, "maintenance", "prewarm", "api"]],
  ["http", [...FOUNDATION, "config", "engine", "tables", "auth", "api"]],
  ["threads", [...FOUNDATION, "api"]],
  ["demo", FOUNDATION],
]);

/** Folders that put the others together and may import all of them. */
export const TYPESCRIPT_TOP = ["cli", "server"];
