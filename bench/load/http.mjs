/** @import { Load } from "../types.js" */
import { spawnSync } from "node:child_process";
import { autocannonLoad } from "./autocannon.mjs";
import { wrkLoad } from "./wrk.mjs";

/**
 * A request as it goes over the wire.
 *
 * @typedef {object} HttpRequest
 * @property {string} method
 * @property {string} path
 * @property {string | Uint8Array} [body]
 * @property {Record<string, string>} headers
 */

const hasWrk = spawnSync("wrk", ["--version"]).error === undefined;

/** What makes the load: wrk where it is installed, autocannon elsewhere. */
export const loader = hasWrk ? "wrk" : "autocannon";

/**
 * Sends the requests in turn over `clients` kept-alive connections, each of which waits for an answer
 * before it asks again (a closed loop), for `seconds`.
 *
 * @param {{ url: string, requests: HttpRequest[], clients: number, seconds: number }} wanted
 * @returns {Promise<Load>}
 */
export function httpLoad(wanted) {
  return hasWrk ? wrkLoad(wanted) : autocannonLoad(wanted);
}
