/** @import { Answer, Operation, Distance } from "../types.js" @import { HttpRequest } from "../load/generator.mjs" */
import { tableFromIPC } from "apache-arrow";
import { send, sendFile } from "./http-contender.mjs";
import { sql } from "./sql.mjs";

const ARROW = "application/vnd.apache.arrow.stream";
const MAX_ROWS = 2_147_483_647;

/**
 * The REST interface of lance-namespace, which joust and the adapter of pylance implement.
 *
 * @param {{ url: string, headers: Record<string, string>, distance: Distance }} server
 */
export function namespaceDialect({ url, headers, distance }) {
  /** @returns {HttpRequest} */
  const post = (table, operation, body, type = "application/json") => ({
    method: "POST",
    path: `/v1/table/${table}/${operation}`,
    headers: { ...headers, "content-type": type },
    body,
  });
  const json = (table, operation, body) => post(table, operation, JSON.stringify(body));

  return {
    url,
    post,
    json,
    /** @param {string} table @param {Operation} operation */
    request(table, operation) {
      if (operation.kind === "sql") return statement(headers, operation.text);
      if (operation.kind === "insert") return post(table, "insert", operation.rows, ARROW);
      if (operation.kind === "describe") return json(table, "describe", {});
      if (operation.kind === "delete") {
        return json(table, "delete", { predicate: sql(operation.filter) });
      }
      if (operation.kind === "count") {
        const predicate = operation.filter && sql(operation.filter);
        return json(table, "count_rows", predicate === undefined ? {} : { predicate });
      }
      return json(table, "query", query(operation, distance));
    },
    read,
    /** @param {string} table */
    download: (table) => json(table, "query", { k: MAX_ROWS, vector: { single_vector: [] } }),
    /** @param {string} table @param {string} file */
    create: (table, file) => sendFile(url, post(table, "create", undefined, ARROW), file),
    /** @param {string} table */
    drop: async (table) => void (await send(url, json(table, "drop", {}))),
  };
}

/** @param {Record<string, string>} headers @param {string} query @returns {HttpRequest} */
function statement(headers, query) {
  return {
    method: "POST",
    path: "/v1/sql",
    headers: { ...headers, "content-type": "application/json", accept: ARROW },
    body: JSON.stringify({ query }),
  };
}

/** @param {Exclude<Operation, { kind: "insert" | "describe" | "count" | "delete" | "sql" }>} operation @param {Distance} distance */
function query(operation, distance) {
  const columns = { column_names: operation.columns };
  const none = { single_vector: [] };
  if (operation.kind === "filter")
    return { k: operation.limit, vector: none, filter: sql(operation.filter), columns };
  if (operation.kind === "points") {
    const filter = `id IN (${operation.ids.join(", ")})`;
    return { k: operation.ids.length, vector: none, filter, columns };
  }
  const words =
    "text" in operation
      ? { full_text_query: { string_query: { query: operation.text, columns: ["text"] } } }
      : {};
  if (operation.kind === "text") return { k: operation.k, vector: none, ...words, columns };
  const [first] = operation.vectors;
  return {
    k: operation.k,
    vector:
      operation.vectors.length === 1
        ? { single_vector: first }
        : { multi_vector: operation.vectors },
    distance_type: distance,
    columns,
    ...words,
    ...optional("nprobes", operation.nprobes),
    ...optional("refine_factor", operation.refine),
    ...optional("ef", operation.ef),
    ...optional("bypass_vector_index", operation.flat),
    ...(operation.filter === undefined ? {} : { filter: sql(operation.filter), prefilter: true }),
  };
}

const optional = (name, value) => (value === undefined ? {} : { [name]: value });

/** @param {Operation} operation @param {Response} response @returns {Promise<Answer>} */
async function read(operation, response) {
  if (operation.kind === "count") return { rows: Number(await response.text()), ids: [] };
  if (operation.kind === "delete") {
    await response.arrayBuffer();
    return { rows: 0, ids: [] };
  }
  if (operation.kind === "describe" || operation.kind === "insert") {
    const body = /** @type {{ location?: string }} */ (await response.json());
    if (operation.kind === "describe" && !body.location)
      throw new Error("the answer of describe has no location");
    return { rows: 1, ids: [] };
  }
  const rows = tableFromIPC(new Uint8Array(await response.arrayBuffer()));
  if (operation.kind === "sql") return { rows: rows.numRows, ids: [], values: valuesOf(rows) };
  const ids = rows.getChild("id");
  return { rows: rows.numRows, ids: ids ? Array.from(ids, Number) : [] };
}

/** The values of each row; 64-bit integers as numbers. @param {import("apache-arrow").Table} table */
function valuesOf(table) {
  const plain = (value) => (typeof value === "bigint" ? Number(value) : value);
  return table.toArray().map((row) => [...row].map(([, value]) => plain(value)));
}
