/** @import { Answer, Operation, Predicate, Contender, Workspace, Scenario } from "../types.js" @import { HttpRequest } from "../load/generator.mjs" */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { tableFromIPC } from "apache-arrow";
import getPort from "get-port";
import { arrowFileBatches, plainRows } from "../data/arrow-read.mjs";
import { httpContender, send } from "./http-contender.mjs";
import { startProgram } from "./program.mjs";
import { python } from "./python.mjs";

const PACKAGES = ["chromadb==1.5.9"];
const COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections";
/** Rows of a request; Chroma's limit is slightly higher. */
const BATCH = 4096;
const SPACES = { cosine: "cosine", l2: "l2", dot: "ip" };
const START_TIMEOUT_MS = 60_000;

let interpreter = "";

/** The server of Chroma, which searches an HNSW graph. @type {Contender} */
export const chroma = {
  key: "chroma",
  title: "Chroma",
  quick: true,
  async checkAvailable(options) {
    const environment = await python({
      name: "chroma",
      packages: PACKAGES,
      module: "chromadb",
      ...options,
    });
    if (environment.reason !== undefined) return environment.reason;
    interpreter = environment.interpreter;
  },
  async prepare(workspace) {
    const running = await serve(workspace);
    try {
      const begin = performance.now();
      await running.create("bench_graph", workspace.dataset.file);
      workspace.recordStep("ingest and HNSW index", (performance.now() - begin) / 1000);
    } finally {
      await running.stop();
    }
  },
  start: serve,
};

/** @param {Workspace} workspace */
async function serve({ folder, cores, dataset: { distance } }) {
  const port = await getPort({ host: "127.0.0.1" });
  const entry = "from chromadb.cli.cli import app; app()";
  const args = ["-c", entry, "run", "--path", join(folder, "data"), "--host", "127.0.0.1"];
  const program = startProgram(interpreter, [...args, "--port", String(port)], {
    quiet: true,
    cores,
    env: { ANONYMIZED_TELEMETRY: "False" },
  });
  program.child.stdout.resume();
  const url = `http://127.0.0.1:${port}`;
  await waitUntilReady(url, program.ended);
  const collections = await Collections.list(url);
  return httpContender(program, {
    url,
    checkSupported,
    request: (table, operation) =>
      operation.kind === "describe"
        ? { method: "GET", path: `${COLLECTIONS}/${collections.name(table)}`, headers: {} }
        : request(collections.path(table), operation),
    read,
    download: (table) =>
      post(`${collections.path(table)}/get`, { include: ["documents", "metadatas", "embeddings"] }),
    create: (table, file) => create(collections, table, file, distance),
    tune: (table, operation) => collections.tune(table, operation),
  });
}

async function waitUntilReady(url, ended) {
  let alive = true;
  ended.then(() => {
    alive = false;
  });
  for (const end = Date.now() + START_TIMEOUT_MS; alive && Date.now() < end; await sleep(10)) {
    const answer = await fetch(`${url}/api/v2/heartbeat`).catch(() => undefined);
    if (answer?.ok) return;
  }
  throw new Error("it did not start");
}

/** The collections of the server. Its routes take ids instead of names. */
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

  /** `bench` and `bench_graph` have the same rows: one collection serves as both. */
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
    const response = await send(this.#url, post(COLLECTIONS, { name, configuration }));
    this.#ids.set(name, /** @type {any} */ (await response.json()).id);
  }

  /** Chroma sets `ef` for a collection instead of a query. */
  async tune(table, operation) {
    const ef = operation.ef;
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
function checkSupported({ key, table }) {
  if (key.startsWith("text") || key === "hybrid") return "its server has no text ranking";
  if (key.startsWith("points-beside")) return "it has no functions in filters";
  if (key === "vector-flat") return "it always uses its index";
  if (key === "count-filter") return "it counts whole collections only";
  if (table !== "bench_graph" && key.startsWith("vector"))
    return "it has no such index, only an HNSW graph";
  return undefined;
}

/** Inserted rows need new ids. */
let nextId = 2 ** 40;

function insertion(path, bytes) {
  const rows = plainRows(tableFromIPC(bytes).batches[0]);
  return post(`${path}/add`, records({ ...rows, ids: rows.ids.map(() => nextId++) }));
}

/** @param {string} path @param {Operation} operation @returns {HttpRequest} */
function request(path, operation) {
  switch (operation.kind) {
    case "vector":
      return post(`${path}/query`, {
        query_embeddings: operation.vectors,
        n_results: operation.k,
        include: ["documents", "distances"],
        ...(operation.filter ? { where: where(operation.filter) } : {}),
      });
    case "points":
      return post(`${path}/get`, { ids: operation.ids.map(String), include: ["documents"] });
    case "filter":
      return post(`${path}/get`, {
        where: where(operation.filter),
        limit: operation.limit,
        include: ["documents"],
      });
    case "insert":
      return insertion(path, operation.rows);
    case "count":
      return { method: "GET", path: `${path}/count`, headers: {} };
    default:
      throw new Error(`Chroma has no operation ${operation.kind}`);
  }
}

/** @param {Predicate} predicate */
function where({ label, number }) {
  const parts = [];
  if (label !== undefined) parts.push({ label: { $eq: label } });
  if (number) parts.push({ number: { $gte: number[0] } }, { number: { $lt: number[1] } });
  return parts.length > 1 ? { $and: parts } : parts[0];
}

/** @param {Operation} operation @param {Response} response @returns {Promise<Answer>} */
async function read(operation, response) {
  const body = /** @type {any} */ (await response.json());
  if (operation.kind === "count") return { rows: body, ids: [] };
  if (operation.kind === "describe" || operation.kind === "insert") return { rows: 1, ids: [] };
  const ids = body.ids.flat().map(Number);
  return { rows: ids.length, ids };
}
