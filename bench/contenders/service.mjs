/** @import { Answer, Ask } from "../types.js" @import { HttpRequest } from "../load/http.mjs" @import { Dialect } from "./http.mjs" */
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { installFolder } from "../../scripts/build/dependencies.mjs";
import { root as checkout } from "../../scripts/build/paths.mjs";
import { sendFile } from "./http.mjs";
import { sql } from "./sql.mjs";

const ARROW = "application/vnd.apache.arrow.stream";

/**
 * Puts a service of `programs/` beside its npm packages, where Node looks for them.
 *
 * @param {{ name: string, packages: Record<string, string>, install: boolean }} wanted
 * @returns {{ service: string, reason?: undefined } | { reason: string }}
 */
export function installService({ name, packages, install }) {
  const folder = join(homedir(), ".cache", "joust", "bench", name);
  const installed = Object.keys(packages).every((one) =>
    existsSync(join(folder, "node_modules", one)),
  );
  if (!installed && !install) return { reason: "its npm packages are not installed" };
  try {
    mkdirSync(folder, { recursive: true });
    if (!installed) {
      const manifest = { private: true, type: "module", dependencies: packages };
      writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
      installFolder(folder);
    }
    const service = join(folder, "service.mjs");
    copyFileSync(join(checkout, "bench", "programs", `${name}.mjs`), service);
    return { service };
  } catch {
    return { reason: "its npm packages could not be installed" };
  }
}

/**
 * What such a service is asked: JSON bodies, and Arrow streams for rows.
 *
 * @param {string} url
 * @returns {Omit<Dialect, "refuses">}
 */
export function serviceDialect(url) {
  return {
    url,
    request,
    read,
    download: (table) => json(table, "rows", {}),
    create(table, file) {
      const headers = { "content-type": ARROW };
      return sendFile(url, { method: "POST", path: `/${table}/create`, headers }, file);
    },
  };
}

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
