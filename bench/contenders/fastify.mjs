/** @import { Answer, Ask, Contender } from "../types.js" @import { HttpRequest } from "../load/http.mjs" */
import { copyFileSync, existsSync, mkdirSync, openAsBlob, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { installFolder } from "../../scripts/build/dependencies.mjs";
import { root as checkout } from "../../scripts/build/paths.mjs";
import { copyTables } from "./copy-tables.mjs";
import { overHttp, send } from "./http.mjs";
import { listening, startProgram } from "./process.mjs";
import { sql } from "./sql.mjs";

const ARROW = "application/vnd.apache.arrow.stream";
const FOLDER = join(homedir(), ".cache", "joust", "bench", "fastify");
const PACKAGES = { fastify: "5.12.8", "@lancedb/lancedb": "0.39.0", "apache-arrow": "18.1.0" };
const PROGRAM = join(checkout, "bench", "programs", "fastify-lancedb.mjs");

/** What a user writes today: a small service around the LanceDB SDK for Node. @type {Contender} */
export const fastify = {
  key: "fastify",
  title: "Fastify + @lancedb/lancedb",
  needs: "lance",
  async missing({ install }) {
    if (!install && !existsSync(join(FOLDER, "node_modules", "@lancedb"))) {
      return "its npm packages are not installed";
    }
    try {
      mkdirSync(FOLDER, { recursive: true });
      const manifest = join(FOLDER, "package.json");
      const wanted = JSON.stringify({ private: true, type: "module", dependencies: PACKAGES });
      if (!existsSync(join(FOLDER, "node_modules", "@lancedb"))) writeFileSync(manifest, wanted);
      if (install) installFolder(FOLDER);
      // Beside its packages, where Node looks for them.
      copyFileSync(PROGRAM, join(FOLDER, "service.mjs"));
    } catch {
      return "its npm packages could not be installed";
    }
  },
  prepare: (place) => copyTables(place, "lance"),
  async start({ folder, cores, dataset: { distance } }) {
    const service = join(FOLDER, "service.mjs");
    const program = startProgram(process.execPath, [service, folder, distance], { cores });
    const url = await listening(program);
    return overHttp(program, {
      url,
      refuses: () => undefined,
      request,
      read,
      download: (table) => json(table, "rows", {}),
      async create(table, file) {
        const headers = { "content-type": ARROW };
        const body = /** @type {any} */ (await openAsBlob(file));
        await send(url, { method: "POST", path: `/${table}/create`, headers, body });
      },
    });
  },
};

/** @returns {HttpRequest} */
function json(table, route, body) {
  return {
    method: "POST",
    path: `/${table}/${route}`,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
}

/** @param {string} table @param {Ask} ask @returns {HttpRequest} */
function request(table, ask) {
  switch (ask.kind) {
    case "insert":
      return { ...json(table, "insert", {}), headers: { "content-type": ARROW }, body: ask.rows };
    case "describe":
      return json(table, "describe", {});
    case "count":
      return json(table, "count", { filter: ask.filter && sql(ask.filter) });
    case "points":
      return json(table, "rows", { filter: `id IN (${ask.ids.join(", ")})`, columns: ask.columns });
    case "filter":
      return json(table, "rows", { ...ask, filter: sql(ask.filter) });
    case "text":
      return json(table, "search", ask);
    default:
      return json(table, "search", { ...ask, filter: ask.filter && sql(ask.filter) });
  }
}

/** @param {Ask} ask @param {Response} response @returns {Promise<Answer>} */
async function read(ask, response) {
  const body = /** @type {any} */ (await response.json());
  if (ask.kind === "count") return { rows: body.count, ids: [] };
  if (!("columns" in ask)) return { rows: 1, ids: [] };
  return { rows: body.length, ids: body.map(({ id }) => id) };
}
