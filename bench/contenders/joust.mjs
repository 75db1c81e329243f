/** @import { Contender, Dataset, RelationalTable, Workspace, StartOptions, TableName } from "../types.js" */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root as checkout } from "../../scripts/build/paths.mjs";
import { fileOf, isRelational } from "../data/tables.mjs";
import { copyTables } from "./copy-tables.mjs";
import { httpContender, send } from "./http-contender.mjs";
import { namespaceDialect } from "./namespace-dialect.mjs";
import { listening, startProgram } from "./program.mjs";

export const MAIN = join(checkout, "dist", "cli", "main.js");
/** The admin key of each server. */
export const KEY = `joust_${randomBytes(32).toString("base64url")}`;

/** The square root of the rows as the number of partitions: a search probes a few of many small ones. */
const partitions = (rows) => Math.max(1, Math.round(Math.sqrt(rows)));

/**
 * The vector index of each table. The default of Lance for IVF_PQ is a partition for 8,192 rows: 20 probes
 * would read a whole table of 100,000 rows. Up to 1,000,000 rows, a single graph has the best recall.
 */
const VECTOR_INDEXES = {
  bench: (rows) => ({ index_type: "IVF_PQ", num_partitions: partitions(rows) }),
  bench_graph: (rows) => ({
    index_type: "IVF_HNSW_SQ",
    num_partitions: Math.max(1, Math.round(rows / 1_000_000)),
  }),
  bench_ivf: (rows) => ({ index_type: "IVF_FLAT", num_partitions: partitions(rows) }),
};

/**
 * @param {Workspace} workspace
 * @param {readonly string[]} [more] options of the server
 * @param {string} [key] of the requests
 */
export async function serve({ folder, cores, dataset: { distance } }, more = [], key = KEY) {
  const args = [MAIN, "serve", folder, "--port", "0", "--log-level", "warn", "--api-key", KEY];
  const program = startProgram(process.execPath, [...args, ...more], { cores });
  const headers = { authorization: `Bearer ${key}` };
  const url = await listening(program);
  return { program, key, dialect: namespaceDialect({ url, headers, distance }) };
}

/** @param {Workspace} workspace @param {StartOptions} options @param {readonly string[]} [more] */
async function start(workspace, { prewarmed }, more = []) {
  const prewarm = prewarmed ? workspace.tables.map((table) => `--prewarm=${table}`) : [];
  const { program, dialect } = await serve(workspace, [...prewarm, ...more]);
  while ((await fetch(`${dialect.url}/readyz`)).status !== 200) await sleep(20);
  return httpContender(program, { ...dialect, checkSupported: () => undefined });
}

/** @type {Contender} */
export const joust = {
  key: "joust",
  title: "joust",
  quick: true,
  scenarios: "all",
  async checkAvailable() {
    return existsSync(MAIN) ? undefined : "it is not built";
  },
  async prepare(workspace) {
    const { program, dialect } = await serve(workspace);
    try {
      for (const table of workspace.tables) {
        await timed(workspace, `ingest ${table}`, () =>
          dialect.create(table, fileOf(workspace.dataset, table)),
        );
        await buildIndexes(dialect, workspace, table);
      }
    } finally {
      await program.stop();
    }
  },
  prewarms: true,
  start: (workspace, options = {}) => start(workspace, options, ["--http=uws"]),
};

/** @type {Contender} */
export const joustThreads = {
  key: "joust-threads",
  title: "joust, one HTTP thread per core",
  scenarios: "all",
  copiesTablesOf: "joust",
  prewarms: true,
  async checkAvailable() {
    if (process.platform !== "linux") return "only Linux distributes connections among threads";
    return joust.checkAvailable({ install: false });
  },
  prepare: (workspace) => copyTables(workspace, "joust"),
  start: (workspace, options = {}) =>
    start(workspace, options, [
      "--http=uws",
      `--http-threads=${workspace.cores ?? availableParallelism()}`,
    ]),
};

/** @type {Contender} */
export const joustNode = {
  key: "joust-node",
  title: "joust with Node's HTTP server",
  copiesTablesOf: "joust",
  quick: true,
  scenarios: "all",
  prewarms: true,
  checkAvailable: () => joust.checkAvailable({ install: false }),
  prepare: (workspace) => copyTables(workspace, "joust"),
  start: (workspace, options = {}) => start(workspace, options, ["--http=node"]),
};

/** @param {ReturnType<typeof namespaceDialect>} dialect @param {Workspace} workspace @param {TableName} table */
async function buildIndexes(dialect, workspace, table) {
  const indexes = isRelational(table)
    ? { id: { index_type: "BTREE" } }
    : searchIndexes(table, workspace.dataset);
  for (const [column, spec] of Object.entries(indexes)) {
    await timed(workspace, `${spec.index_type} index of ${column}`, async () => {
      await send(dialect.url, dialect.json(table, "create_index", { column, ...spec }));
      await waitUntilReady(dialect, table, column);
    });
  }
}

/** @param {Exclude<TableName, RelationalTable>} table @param {Dataset} dataset */
function searchIndexes(table, { distance, rows }) {
  return {
    vector: { ...VECTOR_INDEXES[table](rows), distance_type: distance },
    text: { index_type: "FTS" },
    id: { index_type: "BTREE" },
    label: { index_type: "BITMAP" },
    number: { index_type: "BTREE" },
  };
}

async function waitUntilReady(dialect, table, column) {
  for (;;) {
    const listing = await send(dialect.url, dialect.json(table, "index/list", {}));
    const { indexes } = /** @type {{ indexes: { columns: string[], status: string }[] }} */ (
      await listing.json()
    );
    const index = indexes.find(({ columns }) => columns.includes(column));
    if (index?.status === "Ready") return;
    if (index?.status === "Failed") throw new Error(`the build of the index of ${column} failed`);
    await sleep(100);
  }
}

/** @param {Workspace} workspace @param {string} step @param {() => Promise<void>} work */
async function timed(workspace, step, work) {
  const begin = performance.now();
  await work();
  workspace.recordStep(step, (performance.now() - begin) / 1000);
}
