/** @import { Answer, Ask, Dataset, Judgement, Scenario, VectorAsk } from "./types.js" */
import { random } from "./data/random.mjs";
import { recall } from "./measure/statistics.mjs";

const K = 10;
const COLUMNS = ["id", "text"];
const IDS = 10;
const BATCH = 10;
const ASKS = 500;

/**
 * What is measured, in nobody's dialect: contenders translate. Nobody is measured doing less than the
 * others: `judge` throws when an answer is wrong, and says how good one is that may be worse or better.
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
  whole("vector-ivf-4", 4),
  whole("vector-ivf-8", 8),
  whole("vector-ivf-16", 16),
  whole("vector-ivf-32", 32),
  filtered("vector-filter", "IVF_PQ, nprobes 20, refine 10, one row in 20 admitted", {
    nprobes: 20,
    refine: 10,
  }),
  filtered(
    "vector-graph-filter",
    "graph, ef 128, one row in 20 admitted",
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
    asks: ({ texts }) => texts.map((text) => ({ kind: "text", text, k: K, columns: COLUMNS })),
    judge: someRows,
  }),
  load({
    key: "hybrid",
    title: "vector and text at once, reciprocal ranks, top 10",
    group: "text",
    quick: true,
    asks: ({ texts, queries }) =>
      texts.map((text, i) => ({
        ...vectorAsk([queries[i % queries.length]], { nprobes: 20 }),
        kind: "hybrid",
        text,
      })),
    judge: someRows,
  }),
  load({
    key: "filter",
    title: "filter on two indexed columns, limit 10",
    quick: true,
    asks: ({ conditions }) =>
      conditions.map((filter) => ({ kind: "filter", filter, limit: 10, columns: COLUMNS })),
    judge: judgeFilter,
  }),
  load({
    key: "points",
    title: "point read of 10 ids",
    quick: true,
    asks: points,
    judge: judgePoints,
  }),
  load({
    key: "count",
    title: "count of all rows",
    quick: true,
    asks: () => [{ kind: "count" }],
    judge: judgeCount,
  }),
  load({
    key: "count-filter",
    title: "count of the rows that a filter finds",
    asks: ({ conditions }) => conditions.map((filter) => ({ kind: "count", filter })),
    judge: judgeCount,
  }),
  load({
    key: "describe",
    title: "describe table",
    quick: true,
    asks: () => [{ kind: "describe" }],
    judge: someRows,
  }),
  inserts(1),
  inserts(8, { quick: true }),
  inserts(64),
  timed("ingest", "whole table in one request", "writes"),
  timed("download", "whole table in one answer", "whole"),
  timed("cold", "start of the process to its first answer", "whole"),
  timed("first", "first answer of a process that is ready", "whole"),
];

/** @param {Partial<Scenario> & Pick<Scenario, "key" | "title" | "asks" | "judge">} scenario @returns {Scenario} */
function load(scenario) {
  return { group: "rows", measure: "load", table: "bench", quick: false, ...scenario };
}

/** @param {readonly (readonly number[])[]} vectors @param {Partial<VectorAsk>} effort @returns {VectorAsk} */
function vectorAsk(vectors, effort) {
  return { kind: "vector", vectors, k: K, columns: COLUMNS, ...effort };
}

/** @param {Partial<VectorAsk>} effort @param {Partial<Scenario>} [more] */
function vector(key, title, effort, more = {}) {
  return load({
    key,
    title: `vector: ${title}`,
    group: "vector",
    asks: ({ queries }) => queries.map((query) => vectorAsk([query], effort)),
    judge: (answers, _asks, { truth }) => found(answers, truth.all),
    ...more,
  });
}

function graph(key, ef, more = {}) {
  return vector(key, `graph, ef ${ef}`, { ef }, { table: "bench_graph", ...more });
}

/** Through partitions of vectors as they are, not of estimates. */
function whole(key, nprobes) {
  const title = `IVF_FLAT, nprobes ${nprobes}`;
  return vector(key, title, { nprobes }, { table: "bench_ivf" });
}

function filtered(key, title, effort, more = {}) {
  return load({
    key,
    title: `vector: ${title}`,
    group: "vector",
    asks: ({ queries, label }) =>
      queries.map((query) => vectorAsk([query], { ...effort, filter: { label } })),
    judge: (answers, _asks, { truth }) => found(answers, truth.labelled),
    ...more,
  });
}

/** Requests of several vectors. */
function batch() {
  return load({
    key: "vector-batch",
    title: `vector: ${BATCH} in one request, IVF_PQ, nprobes 20`,
    group: "vector",
    asks: ({ queries }) =>
      Array.from({ length: Math.floor(queries.length / BATCH) }, (_, i) =>
        vectorAsk(queries.slice(i * BATCH, (i + 1) * BATCH), { nprobes: 20 }),
      ),
    judge: judgeBatch,
  });
}

/** Each request adds ten rows to a table of its own measurement. */
function inserts(clients, more = {}) {
  return load({
    key: `insert-${clients}`,
    title: `insert of 10 rows, ${clients === 1 ? "one client" : `${clients} clients`}`,
    group: "writes",
    clients: [clients],
    asks: ({ sample: { bytes, file } }) =>
      Array.from({ length: ASKS }, () => ({ kind: "insert", rows: bytes, source: file })),
    judge: someRows,
    ...more,
  });
}

/** @param {"ingest" | "download" | "cold" | "first"} key @param {Scenario["group"]} group */
function timed(key, title, group) {
  return load({
    key,
    title,
    group,
    measure: key,
    clients: [1],
    quick: key !== "first",
    // What a process that just started is asked.
    asks: ({ queries }) => [vectorAsk([queries[0]], { nprobes: 20 })],
    judge: (_answers, _asks, { rows }) => ({ rows }),
  });
}

/** @param {Dataset} dataset @returns {Ask[]} */
function points({ rows }) {
  const chance = random(7);
  return Array.from({ length: ASKS }, () => {
    const ids = new Set();
    while (ids.size < IDS) ids.add(chance.below(rows));
    return { kind: "points", ids: [...ids], columns: COLUMNS };
  });
}

/** @param {readonly Answer[]} answers @param {readonly (readonly number[])[]} truth @returns {Judgement} */
function found(answers, truth) {
  const ids = answers.map((answer) => answer.ids);
  const known = truth.slice(0, ids.length);
  return { rows: mean(answers), recall: recall(ids.slice(0, known.length), known) };
}

/** @type {Scenario["judge"]} */
function judgeBatch(answers, _asks, dataset) {
  const wanted = BATCH * Math.min(K, dataset.rows);
  const short = answers.find(({ rows }) => rows < wanted);
  if (short) throw new Error(`${short.rows} rows for ${BATCH} vectors in place of ${wanted}`);
  const { all } = dataset.truth;
  const known = answers.slice(0, Math.floor(all.length / BATCH));
  return found(
    known,
    known.map((_, i) => all.slice(i * BATCH, (i + 1) * BATCH).flat()),
  );
}

/** @param {readonly Answer[]} answers */
function someRows(answers) {
  const rows = mean(answers);
  if (rows === 0) throw new Error("no answer holds a row");
  return { rows };
}

/** @type {Scenario["judge"]} */
function judgeFilter(answers, asks, dataset) {
  answers.forEach(({ rows, ids }, i) => {
    const ask = asks[i];
    if (ask?.kind !== "filter") return;
    const wrong = ids.find((id) => !dataset.matches(id, ask.filter));
    if (wrong !== undefined) throw new Error(`row ${wrong} does not fit the filter`);
    const most = Math.min(ask.limit, dataset.count(ask.filter));
    if (rows !== most) throw new Error(`${rows} rows in place of ${most}`);
  });
  return { rows: mean(answers) };
}

/** @type {Scenario["judge"]} */
function judgePoints(answers, asks) {
  answers.forEach(({ ids }, i) => {
    const ask = asks[i];
    if (ask?.kind !== "points") return;
    if (recall([ids], [ask.ids]) < 1 || ids.length !== ask.ids.length) {
      throw new Error(`rows ${ids.join(", ")} in place of ${ask.ids.join(", ")}`);
    }
  });
  return { rows: mean(answers) };
}

/** @type {Scenario["judge"]} */
function judgeCount(answers, asks, dataset) {
  answers.forEach(({ rows }, i) => {
    const ask = asks[i];
    if (ask?.kind !== "count") return;
    const right = ask.filter ? dataset.count(ask.filter) : dataset.rows;
    if (rows !== right) throw new Error(`counted ${rows} in place of ${right}`);
  });
  return { rows: mean(answers) };
}

/** @param {readonly Answer[]} answers */
function mean(answers) {
  return answers.reduce((sum, { rows }) => sum + rows, 0) / answers.length;
}
