/** @import { Dataset, Operation, Scenario, VectorQuery } from "./types.js" */
import { random } from "./data/random.mjs";
import {
  judgeBatches,
  judgeCount,
  judgeFilter,
  judgeNearest,
  judgePoints,
  judgeRows,
} from "./judge/answers.mjs";
import { sqlScenarios } from "./sql-scenarios.mjs";

const K = 10;
const COLUMNS = ["id", "text"];
const IDS = 10;
const BATCH = 10;
const OPERATIONS = 500;
/** @type {Partial<Scenario>} */
const PREWARMED = { measure: "first", prewarmed: true };

/**
 * The operations that the benchmark measures. Each contender translates them into its requests. `judge`
 * throws if an answer is wrong, and measures the recall of approximate answers, so that no contender wins by
 * a smaller answer.
 *
 * @type {readonly Scenario[]}
 */
export const scenarios = [
  vector("vector-pq", "IVF_PQ, nprobes 20", { nprobes: 20 }, { quick: true }),
  vector("vector-pq-refine", "IVF_PQ, nprobes 20, refine 10", { nprobes: 20, refine: 10 }),
  vector("vector-pq-high", "IVF_PQ, nprobes 100, refine 20", { nprobes: 100, refine: 20 }),
  graph("vector-graph-32", 32),
  graph("vector-graph-64", 64),
  graph("vector-graph-128", 128, { quick: true }),
  graph("vector-graph-256", 256),
  ivfFlat("vector-ivf-4", 4),
  ivfFlat("vector-ivf-8", 8),
  ivfFlat("vector-ivf-16", 16),
  ivfFlat("vector-ivf-32", 32),
  filtered("vector-filter", "IVF_PQ, nprobes 20, refine 10, filter matches 1 row in 20", {
    nprobes: 20,
    refine: 10,
  }),
  filtered(
    "vector-graph-filter",
    "graph, ef 128, filter matches 1 row in 20",
    { ef: 128 },
    { table: "bench_graph", quick: true },
  ),
  batch(),
  vector("vector-flat", "no index", { flat: true }, { quick: true }),
  load({
    key: "text",
    title: "text: two words, top 10",
    group: "text",
    quick: true,
    operations: ({ texts }) =>
      texts.map((text) => ({ kind: "text", text, k: K, columns: COLUMNS })),
    judge: judgeRows,
  }),
  load({
    key: "hybrid",
    title: "vector and text in one query, reciprocal ranks, top 10",
    group: "text",
    quick: true,
    operations: ({ texts, queries }) =>
      texts.map((text, i) => ({
        ...vectorQuery([queries[i % queries.length]], { nprobes: 20 }),
        kind: "hybrid",
        text,
      })),
    judge: judgeRows,
  }),
  load({
    key: "filter",
    title: "filter on two indexed columns, limit 10",
    quick: true,
    operations: ({ predicates }) =>
      predicates.map((filter) => ({ kind: "filter", filter, limit: 10, columns: COLUMNS })),
    judge: judgeFilter,
  }),
  load({
    key: "points",
    title: "point read of 10 ids",
    quick: true,
    operations: points,
    judge: judgePoints,
  }),
  beside("filters", {
    kind: "filter",
    filter: { digests: 100 },
    limit: 10,
    columns: COLUMNS,
  }),
  beside("deletes", { kind: "delete", filter: { digests: 100 } }),
  load({
    key: "count",
    title: "count of all rows",
    quick: true,
    operations: () => [{ kind: "count" }],
    judge: judgeCount,
  }),
  load({
    key: "count-filter",
    title: "count of the rows that match a filter",
    operations: ({ predicates }) => predicates.map((filter) => ({ kind: "count", filter })),
    judge: judgeCount,
  }),
  load({
    key: "describe",
    title: "describe table",
    quick: true,
    operations: () => [{ kind: "describe" }],
    judge: judgeRows,
  }),
  inserts(1),
  inserts(8, { quick: true }),
  inserts(64),
  timed("ingest", "whole table in one request", "writes"),
  timed("download", "whole table in one answer", "whole"),
  timed("cold", "process start to its first answer", "whole"),
  timed("first", "first answer of a ready process", "whole"),
  timed("second", "second answer of a ready process", "whole"),
  timed("first-prewarmed", "first answer of a process with a prewarmed table", "whole", PREWARMED),
  timed("second-prewarmed", "second answer of a process with a prewarmed table", "whole", {
    ...PREWARMED,
    measure: "second",
  }),
  timed("function", "a Python function over the text of the whole table", "functions", {
    quick: false,
    judge: judgeWhole,
  }),
  timed("view", "refresh of a view of the whole table after 1 % of the rows changed", "views", {
    quick: false,
    judge: judgeWhole,
  }),
  timed("clone", "clone of the whole table", "clones", {
    quick: false,
    operations: () => [{ kind: "count" }],
    judge: judgeCount,
  }),
  ...sqlScenarios,
];

/** @param {Partial<Scenario> & Pick<Scenario, "key" | "title" | "operations" | "judge">} scenario @returns {Scenario} */
function load(scenario) {
  return { group: "rows", measure: "load", table: "bench", quick: false, ...scenario };
}

/** @param {readonly (readonly number[])[]} vectors @param {Partial<VectorQuery>} effort @returns {VectorQuery} */
function vectorQuery(vectors, effort) {
  return { kind: "vector", vectors, k: K, columns: COLUMNS, ...effort };
}

/** @param {Partial<VectorQuery>} effort @param {Partial<Scenario>} [more] */
function vector(key, title, effort, more = {}) {
  return load({
    key,
    title: `vector: ${title}`,
    group: "vector",
    operations: ({ queries }) => queries.map((query) => vectorQuery([query], effort)),
    judge: (answers, _operations, { truth }) => judgeNearest(answers, truth.all),
    ...more,
  });
}

function graph(key, ef, more = {}) {
  return vector(key, `graph, ef ${ef}`, { ef }, { table: "bench_graph", ...more });
}

/** Reads of a few rows while other clients send requests that compute long. @param {Operation} operation */
function beside(requests, operation) {
  return load({
    key: `points-beside-${requests}`,
    title: `point read of 10 ids, beside 4 clients with slow ${requests}`,
    group: "beside",
    operations: points,
    beside: { clients: 4, operation },
    judge: judgePoints,
  });
}

/** A search of IVF_FLAT: partitions of uncompressed vectors. */
function ivfFlat(key, nprobes) {
  const title = `IVF_FLAT, nprobes ${nprobes}`;
  return vector(key, title, { nprobes }, { table: "bench_ivf" });
}

function filtered(key, title, effort, more = {}) {
  return load({
    key,
    title: `vector: ${title}`,
    group: "vector",
    operations: ({ queries, label }) =>
      queries.map((query) => vectorQuery([query], { ...effort, filter: { label } })),
    judge: (answers, _operations, { truth }) => judgeNearest(answers, truth.labelled),
    ...more,
  });
}

/** Requests with several vectors. */
function batch() {
  return load({
    key: "vector-batch",
    title: `vector: ${BATCH} in one request, IVF_PQ, nprobes 20`,
    group: "vector",
    operations: ({ queries }) =>
      Array.from({ length: Math.floor(queries.length / BATCH) }, (_, i) =>
        vectorQuery(queries.slice(i * BATCH, (i + 1) * BATCH), { nprobes: 20 }),
      ),
    judge: judgeBatches(BATCH, K),
  });
}

/** Each request inserts ten rows. Each measurement has a new table. */
function inserts(clients, more = {}) {
  return load({
    key: `insert-${clients}`,
    title: `insert of 10 rows, ${clients === 1 ? "one client" : `${clients} clients`}`,
    group: "writes",
    clients: [clients],
    operations: ({ sample: { bytes, file } }) =>
      Array.from({ length: OPERATIONS }, () => ({ kind: "insert", rows: bytes, source: file })),
    judge: judgeRows,
    ...more,
  });
}

/** @param {string} key @param {Scenario["group"]} group @param {Partial<Scenario>} [more] */
function timed(key, title, group, more = {}) {
  return load({
    key,
    title,
    group,
    measure: /** @type {Scenario["measure"]} */ (key),
    clients: [1],
    quick: key === "ingest" || key === "download" || key === "cold",
    // The first operation is timed. `second` executes the second one before it.
    operations: ({ queries }) =>
      [queries[0], queries[1 % queries.length]].map((query) =>
        vectorQuery([query], { nprobes: 20 }),
      ),
    judge: (_answers, _operations, { rows }) => ({ rows }),
    ...more,
  });
}

/**
 * The contender counts the rows that it has computed.
 *
 * @type {Scenario["judge"]}
 */
function judgeWhole([answer], _operations, { rows }) {
  if (answer?.rows !== rows) throw new Error(`it has ${answer?.rows} of ${rows} rows`);
  return { rows };
}

/** @param {Dataset} dataset @returns {Operation[]} */
function points({ rows }) {
  const chance = random(7);
  return Array.from({ length: OPERATIONS }, () => {
    const ids = new Set();
    while (ids.size < IDS) ids.add(chance.below(rows));
    return { kind: "points", ids: [...ids], columns: COLUMNS };
  });
}
