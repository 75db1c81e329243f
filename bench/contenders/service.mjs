/** @import { Answer, Operation } from "../types.js" @import { HttpRequest } from "../load/generator.mjs" @import { Dialect } from "./http-contender.mjs" */
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { installFolder } from "../../scripts/build/dependencies.mjs";
import { root as checkout } from "../../scripts/build/paths.mjs";
import { sendFile } from "./http-contender.mjs";
import { sql } from "./sql.mjs";

const ARROW = "application/vnd.apache.arrow.stream";

/**
 * Installs a service of `programs/` with its npm packages, in a folder where Node resolves them.
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
    return { reason: "its npm packages were not installed" };
  }
}

/**
 * The requests of such a service: JSON bodies, and Arrow streams for rows.
 *
 * @param {string} url
 * @returns {Omit<Dialect, "checkSupported">}
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

/** @param {string} table @param {Operation} operation @returns {HttpRequest} */
function request(table, operation) {
  switch (operation.kind) {
    case "insert":
      return {
        ...json(table, "insert", {}),
        headers: { "content-type": ARROW },
        body: operation.rows,
      };
    case "describe":
      return json(table, "describe", {});
    case "count":
      return json(table, "count", { filter: operation.filter && sql(operation.filter) });
    case "points":
      return json(table, "rows", {
        filter: `id IN (${operation.ids.join(", ")})`,
        columns: operation.columns,
      });
    case "filter":
      return json(table, "rows", { ...operation, filter: sql(operation.filter) });
    case "text":
      return json(table, "search", operation);
    case "delete":
      throw new Error("it deletes no rows");
    case "sql":
      throw new Error("it runs no SQL");
    default:
      return json(table, "search", {
        ...operation,
        filter: operation.filter && sql(operation.filter),
      });
  }
}

/** @param {Operation} operation @param {Response} response @returns {Promise<Answer>} */
async function read(operation, response) {
  const body = /** @type {any} */ (await response.json());
  if (operation.kind === "count") return { rows: body.count, ids: [] };
  if (!("columns" in operation)) return { rows: 1, ids: [] };
  return { rows: body.length, ids: body.map(({ id }) => id) };
}
