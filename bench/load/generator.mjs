/** @import { LoadResult } from "../types.js" */
import { spawnSync } from "node:child_process";
import { autocannonLoad } from "./autocannon.mjs";
import { wrkLoad } from "./wrk.mjs";

/**
 * An HTTP request.
 *
 * @typedef {object} HttpRequest
 * @property {string} method
 * @property {string} path
 * @property {string | Uint8Array} [body]
 * @property {Record<string, string>} headers
 */

const hasWrk = spawnSync("wrk", ["--version"]).error === undefined;

/** The load generator: wrk if it is installed, otherwise autocannon. */
export const loader = hasWrk ? "wrk" : "autocannon";

/**
 * Sends the requests in turn over `clients` keep-alive connections for `seconds`. Each connection waits for a
 * response before its next request (a closed loop).
 *
 * @param {{ url: string, requests: HttpRequest[], clients: number, seconds: number }} wanted
 * @returns {Promise<LoadResult>}
 */
export function generateLoad(wanted) {
  return hasWrk ? wrkLoad(wanted) : autocannonLoad(wanted);
}
