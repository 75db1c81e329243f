/** @import { Answer, Ask, Condition, Contender, Place, Scenario } from "../types.js" @import { HttpRequest } from "../load/http.mjs" */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { tableFromIPC } from "apache-arrow";
import { arrowFileBatches, plainRows } from "../data/arrow-read.mjs";
import { overHttp, send } from "./http.mjs";
import { freePort, startProgram } from "./process.mjs";
import { python } from "./python.mjs";

const PACKAGES = ["chromadb==1.5.9"];
const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
/** Rows of a request; its limit is a little higher. */
const BATCH = 4096;
const SPACES = { cosine: "cosine", l2: "l2", dot: "ip" };
const PATIENCE_MS = 60_000;

let interpreter = "";

/** Chroma's server, which searches an HNSW graph. @type {Contender} */
export const chroma = {
  key: "chroma",
  title: "Chroma",
  quick: true,
  async missing(options) {
    const found = await python({
      name: "chroma",
      packages: PACKAGES,
      module: "chromadb",
      ...options,
    });
    if (found.reason !== undefined) return found.reason;
    interpreter = found.interpreter;
  },
  async prepare(place) {
    const running = await serve(place);
    try {
      const begin = performance.now();
      await running.create("bench_graph", place.dataset.file);
      place.built("ingest and HNSW index", (performance.now() - begin) / 1000);
    } finally {
      await running.stop();
    }
  },
  start: serve,
};

/** @param {Place} place */
async function serve({ folder, cores, dataset: { distance } }) {
  const port = await freePort();
  const entry = "from chromadb.cli.cli import app; app()";
  const args = ["-c", entry, "run", "--path", join(folder, "data"), "--host", "127.0.0.1"];
  const program = startProgram(interpreter, [...args, "--port", String(port)], {
    quiet: true,
    cores,
    env: { ANONYMIZED_TELEMETRY: "False" },
  });
  program.child.stdout.resume();
  const url = `http://127.0.0.1:${port}`;
  await answers(url, program.ended);
  const collections = await Collections.list(url);
  return overHttp(program, {
    url,
    refuses,
    request: (table, ask) =>
      ask.kind === "describe"
        ? { method: "GET", path: `${COLLECTIONS}/${collections.name(table)}`, headers: {} }
        : request(collections.path(table), ask),
    read,
    download: (table) =>
      post(`${collections.path(table)}/get`, { include: ["documents", "metadatas", "embeddings"] }),
    create: (table, file) => create(collections, table, file, distance),
    tune: (table, ask) => collections.tune(table, ask),
  });
}

async function answers(url, ended) {
  let alive = true;
  ended.then(() => {
    alive = false;
  });
  for (const end = Date.now() + PATIENCE_MS; alive && Date.now() < end; await sleep(10)) {
    const answer = await fetch(`${url}/api/v2/heartbeat`).catch(() => undefined);
    if (answer?.ok) return;
  }
  throw new Error("it does not answer");
}

/** Collections are asked for by ids. */
class Collections {
  #url;
  #ids = new Map();
  #ef = new Map();

  constructor(url) {
    this.#url = url;
  }

  /** @param {string} url */
  static async list(url) {
    const collections = new Collections(url);
    const headers = {};
    const listing = await send(url, { method: "GET", path: COLLECTIONS, headers });
    for (const { name, id } of /** @type {any[]} */ (await listing.json())) {
      collections.#ids.set(name, id);
    }
    return collections;
  }

  get url() {
    return this.#url;
  }

  /** The table with the other index has the same rows: one collection is both. */
  name(table) {
    return table === "bench" ? "bench_graph" : table;
  }

  path(table) {
    const id = this.#ids.get(this.name(table));
    if (id === undefined) throw new Error(`there is no collection ${table}`);
    return `${COLLECTIONS}/${id}`;
  }

  async create(name, space) {
    const configuration = { hnsw: { space } };
    const made = await send(this.#url, post(COLLECTIONS, { name, configuration }));
    this.#ids.set(name, /** @type {any} */ (await made.json()).id);
  }

  /** How hard a graph is searched belongs to the collection, not to the query. */
  async tune(table, ask) {
    const ef = ask.ef;
    if (ef === undefined || this.#ef.get(table) === ef) return;
    const body = { new_configuration: { hnsw: { ef_search: ef } } };
    await send(this.#url, { ...post(this.path(table), body), method: "PUT" });
    this.#ef.set(table, ef);
  }
}

/** @param {Collections} collections */
async function create(collections, table, file, distance) {
  await collections.create(table, SPACES[distance]);
  for await (const rows of arrowFileBatches(file, BATCH)) {
    await send(collections.url, post(`${collections.path(table)}/add`, records(rows)));
  }
}

/** @returns {HttpRequest} */
function post(path, body) {
  const headers = { "content-type": "application/json" };
  return { method: "POST", path, headers, body: JSON.stringify(body) };
}

function records({ ids, labels, numbers, texts, vectors }) {
  return {
    ids: ids.map(String),
    documents: texts,
    metadatas: labels.map((label, i) => ({ label, number: numbers[i] })),
    embeddings: vectors,
  };
}

/** @param {Scenario} scenario */
function refuses({ key, table }) {
  if (key.startsWith("text") || key === "hybrid") return "its server ranks no texts";
  if (key === "vector-flat") return "it always searches its index";
  if (key === "count-filter") return "it counts whole collections only";
  if (table !== "bench_graph" && key.startsWith("vector"))
    return "it has no such index, only an HNSW graph";
  return undefined;
}

/** Rows of inserts need ids that no row has. */
let nextId = 2 ** 40;

function insertion(path, bytes) {
  const rows = plainRows(tableFromIPC(bytes).batches[0]);
  return post(`${path}/add`, records({ ...rows, ids: rows.ids.map(() => nextId++) }));
}

/** @param {string} path @param {Ask} ask @returns {HttpRequest} */
function request(path, ask) {
  switch (ask.kind) {
    case "vector":
      return post(`${path}/query`, {
        query_embeddings: ask.vectors,
        n_results: ask.k,
        include: ["documents", "distances"],
        ...(ask.filter ? { where: where(ask.filter) } : {}),
      });
    case "points":
      return post(`${path}/get`, { ids: ask.ids.map(String), include: ["documents"] });
    case "filter":
      return post(`${path}/get`, {
        where: where(ask.filter),
        limit: ask.limit,
        include: ["documents"],
      });
    case "insert":
      return insertion(path, ask.rows);
    case "count":
      return { method: "GET", path: `${path}/count`, headers: {} };
    default:
      throw new Error(`Chroma is not asked for ${ask.kind}`);
  }
}

/** @param {Condition} condition */
function where({ label, number }) {
  const parts = [];
  if (label !== undefined) parts.push({ label: { $eq: label } });
  if (number) parts.push({ number: { $gte: number[0] } }, { number: { $lt: number[1] } });
  return parts.length > 1 ? { $and: parts } : parts[0];
}

/** @param {Ask} ask @param {Response} response @returns {Promise<Answer>} */
async function read(ask, response) {
  const body = /** @type {any} */ (await response.json());
  if (ask.kind === "count") return { rows: body, ids: [] };
  if (ask.kind === "describe" || ask.kind === "insert") return { rows: 1, ids: [] };
  const ids = body.ids.flat().map(Number);
  return { rows: ids.length, ids };
}
