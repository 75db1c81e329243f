/** @import { Contender, Place, StartOptions, TableName } from "../types.js" */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root as checkout } from "../../scripts/build/paths.mjs";
import { copyTables } from "./copy-tables.mjs";
import { overHttp, send } from "./http.mjs";
import { namespaceDialect } from "./namespace-dialect.mjs";
import { listening, startProgram } from "./process.mjs";

const MAIN = join(checkout, "dist", "cli", "main.js");
const KEY = `joust_${randomBytes(32).toString("base64url")}`;

/** As many partitions as the root of the rows: a search looks at a few of many small ones. */
const rootOf = (rows) => Math.max(1, Math.round(Math.sqrt(rows)));

/**
 * One index of vectors a table. Lance's own choice for IVF_PQ is a partition for 8,192 rows, so that 20
 * probes would read all of a table of 100,000 rows, whoever reads it. Of rows few enough for one graph,
 * one graph finds the most; whole vectors in small partitions are compared in a few of these.
 */
const VECTOR_INDEXES = {
  bench: (rows) => ({ index_type: "IVF_PQ", num_partitions: rootOf(rows) }),
  bench_graph: (rows) => ({
    index_type: "IVF_HNSW_SQ",
    num_partitions: Math.max(1, Math.round(rows / 1_000_000)),
  }),
  bench_ivf: (rows) => ({ index_type: "IVF_FLAT", num_partitions: rootOf(rows) }),
};

/** @param {Place} place @param {readonly string[]} [more] options of the server */
async function serve({ folder, cores, dataset: { distance } }, more = []) {
  const usual = [MAIN, "serve", folder, "--port", "0", "--log-level", "warn", "--api-key", KEY];
  const program = startProgram(process.execPath, [...usual, ...more], { cores });
  const headers = { authorization: `Bearer ${KEY}` };
  const url = await listening(program);
  return { program, dialect: namespaceDialect({ url, headers, distance }) };
}

/** @param {Place} place @param {StartOptions} options @param {readonly string[]} [more] */
async function start(place, { prewarmed }, more = []) {
  const named = prewarmed ? place.tables.map((table) => `--prewarm=${table}`) : [];
  const { program, dialect } = await serve(place, [...named, ...more]);
  while ((await fetch(`${dialect.url}/readyz`)).status !== 200) await sleep(20);
  return overHttp(program, { ...dialect, refuses: () => undefined });
}

/** @type {Contender} */
export const joust = {
  key: "joust",
  title: "joust",
  quick: true,
  async missing() {
    return existsSync(MAIN) ? undefined : "it is not built";
  },
  async prepare(place) {
    const { program, dialect } = await serve(place);
    try {
      for (const table of place.tables) {
        await timed(place, `ingest ${table}`, () => dialect.create(table, place.dataset.file));
        await buildIndexes(dialect, place, table);
      }
    } finally {
      await program.stop();
    }
  },
  prewarms: true,
  start: (place, options = {}) => start(place, options, ["--http=uws"]),
};

/** @type {Contender} */
export const joustThreads = {
  key: "joust-threads",
  title: "joust, a thread of HTTP for each core",
  needs: "joust",
  prewarms: true,
  async missing() {
    if (process.platform !== "linux") return "only Linux shares connections out among threads";
    return joust.missing({ install: false });
  },
  prepare: (place) => copyTables(place, "joust"),
  start: (place, options = {}) =>
    start(place, options, [
      "--http=uws",
      `--http-threads=${place.cores ?? availableParallelism()}`,
    ]),
};

/** @type {Contender} */
export const joustNode = {
  key: "joust-node",
  title: "joust with Node's own HTTP",
  needs: "joust",
  quick: true,
  prewarms: true,
  missing: () => joust.missing({ install: false }),
  prepare: (place) => copyTables(place, "joust"),
  start: (place, options = {}) => start(place, options, ["--http=node"]),
};

/** @param {ReturnType<typeof namespaceDialect>} dialect @param {Place} place @param {TableName} table */
async function buildIndexes(dialect, place, table) {
  const { distance, rows } = place.dataset;
  const vector = { ...VECTOR_INDEXES[table](rows), distance_type: distance };
  const wanted = {
    vector,
    text: { index_type: "FTS" },
    id: { index_type: "BTREE" },
    label: { index_type: "BITMAP" },
    number: { index_type: "BTREE" },
  };
  for (const [column, spec] of Object.entries(wanted)) {
    await timed(place, `${spec.index_type} index of ${column}`, async () => {
      await send(dialect.url, dialect.json(table, "create_index", { column, ...spec }));
      await indexReady(dialect, table, column);
    });
  }
}

async function indexReady(dialect, table, column) {
  for (;;) {
    const listing = await send(dialect.url, dialect.json(table, "index/list", {}));
    const { indexes } = /** @type {{ indexes: { columns: string[], status: string }[] }} */ (
      await listing.json()
    );
    const index = indexes.find(({ columns }) => columns.includes(column));
    if (index?.status === "Ready") return;
    if (index?.status === "Failed") throw new Error(`the index of ${column} could not be built`);
    await sleep(100);
  }
}

/** @param {Place} place @param {string} step @param {() => Promise<void>} work */
async function timed(place, step, work) {
  const begin = performance.now();
  await work();
  place.built(step, (performance.now() - begin) / 1000);
}
