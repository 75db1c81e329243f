/** @import { Contender, Place, TableName } from "../types.js" */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root as checkout } from "../../scripts/build/paths.mjs";
import { overHttp, send } from "./http.mjs";
import { namespaceDialect } from "./namespace-dialect.mjs";
import { listening, startProgram } from "./process.mjs";

const MAIN = join(checkout, "dist", "cli", "main.js");
const KEY = `joust_${randomBytes(32).toString("base64url")}`;

/**
 * One index of vectors a table; of rows few enough for one graph, one graph finds the most, and whole
 * vectors are compared in small partitions, so that a few of these are enough.
 */
const VECTOR_INDEXES = {
  bench: () => ({ index_type: "IVF_PQ" }),
  bench_graph: (rows) => ({
    index_type: "IVF_HNSW_SQ",
    num_partitions: Math.max(1, Math.round(rows / 1_000_000)),
  }),
  bench_ivf: (rows) => ({
    index_type: "IVF_FLAT",
    num_partitions: Math.max(1, Math.round(Math.sqrt(rows))),
  }),
};

/** @param {Place} place */
async function serve({ folder, cores, dataset: { distance } }) {
  const args = [MAIN, "serve", folder, "--port", "0", "--log-level", "warn", "--api-key", KEY];
  const program = startProgram(process.execPath, args, { cores });
  const headers = { authorization: `Bearer ${KEY}` };
  const url = await listening(program);
  return { program, dialect: namespaceDialect({ url, headers, distance }) };
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
  async start(place) {
    const { program, dialect } = await serve(place);
    return overHttp(program, { ...dialect, refuses: () => undefined });
  },
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
