/** @import { Answer, Ask, Distance } from "../types.js" @import { HttpRequest } from "../load/http.mjs" */
import { tableFromIPC } from "apache-arrow";
import { send, sendFile } from "./http.mjs";
import { sql } from "./sql.mjs";

const ARROW = "application/vnd.apache.arrow.stream";
const LARGEST = 2_147_483_647;

/**
 * The namespace interface over HTTP, which joust and the adapter of pylance share.
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
    /** @param {string} table @param {Ask} ask */
    request(table, ask) {
      if (ask.kind === "insert") return post(table, "insert", ask.rows, ARROW);
      if (ask.kind === "describe") return json(table, "describe", {});
      if (ask.kind === "count") {
        const predicate = ask.filter && sql(ask.filter);
        return json(table, "count_rows", predicate === undefined ? {} : { predicate });
      }
      return json(table, "query", query(ask, distance));
    },
    read,
    /** @param {string} table */
    download: (table) => json(table, "query", { k: LARGEST, vector: { single_vector: [] } }),
    /** @param {string} table @param {string} file */
    create: (table, file) => sendFile(url, post(table, "create", undefined, ARROW), file),
    /** @param {string} table */
    drop: async (table) => void (await send(url, json(table, "drop", {}))),
  };
}

/** @param {Exclude<Ask, { kind: "insert" | "describe" | "count" }>} ask @param {Distance} distance */
function query(ask, distance) {
  const columns = { column_names: ask.columns };
  const none = { single_vector: [] };
  if (ask.kind === "filter")
    return { k: ask.limit, vector: none, filter: sql(ask.filter), columns };
  if (ask.kind === "points") {
    const filter = `id IN (${ask.ids.join(", ")})`;
    return { k: ask.ids.length, vector: none, filter, columns };
  }
  const words =
    "text" in ask
      ? { full_text_query: { string_query: { query: ask.text, columns: ["text"] } } }
      : {};
  if (ask.kind === "text") return { k: ask.k, vector: none, ...words, columns };
  const [first] = ask.vectors;
  return {
    k: ask.k,
    vector: ask.vectors.length === 1 ? { single_vector: first } : { multi_vector: ask.vectors },
    distance_type: distance,
    columns,
    ...words,
    ...optional("nprobes", ask.nprobes),
    ...optional("refine_factor", ask.refine),
    ...optional("ef", ask.ef),
    ...optional("bypass_vector_index", ask.flat),
    ...(ask.filter === undefined ? {} : { filter: sql(ask.filter), prefilter: true }),
  };
}

const optional = (name, value) => (value === undefined ? {} : { [name]: value });

/** @param {Ask} ask @param {Response} response @returns {Promise<Answer>} */
async function read(ask, response) {
  if (ask.kind === "count") return { rows: Number(await response.text()), ids: [] };
  if (ask.kind === "describe" || ask.kind === "insert") {
    const body = /** @type {{ location?: string }} */ (await response.json());
    if (ask.kind === "describe" && !body.location) throw new Error("describe answered no location");
    return { rows: 1, ids: [] };
  }
  const rows = tableFromIPC(new Uint8Array(await response.arrayBuffer()));
  const ids = rows.getChild("id");
  return { rows: rows.numRows, ids: ids ? Array.from(ids, Number) : [] };
}
