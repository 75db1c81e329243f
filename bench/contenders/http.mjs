/** @import { Answer, Ask, Running, Scenario } from "../types.js" @import { HttpRequest } from "../load/http.mjs" */
import { httpLoad } from "../load/http.mjs";

/**
 * How a server is spoken to.
 *
 * @typedef {object} Dialect
 * @property {string} url
 * @property {(table: string, ask: Ask) => HttpRequest} request
 * @property {(ask: Ask, response: Response) => Promise<Answer>} read
 * @property {(scenario: Scenario) => string | undefined} refuses why it can't be asked that
 * @property {(table: string, file: string) => Promise<void>} create a table out of an Arrow IPC stream
 * @property {(table: string) => HttpRequest} download every row and column
 * @property {(table: string, ask: Ask) => Promise<void>} [tune] before a scenario's first ask
 */

/**
 * A contender that is asked over HTTP.
 *
 * @param {{ pid: number, stop(): Promise<void> }} program
 * @param {Dialect} dialect
 * @returns {Running}
 */
export function overHttp({ pid, stop }, dialect) {
  const { url, request, read, refuses, create } = dialect;
  return {
    pid,
    refuses,
    create,
    stop,
    async answer(table, ask) {
      await dialect.tune?.(table, ask);
      return read(ask, await send(url, request(table, ask)));
    },
    load(table, asks, clients, seconds) {
      const requests = asks.map((ask) => request(table, ask));
      return httpLoad({ url, requests, clients, seconds });
    },
    async download(table) {
      const { body } = await send(url, dialect.download(table));
      let bytes = 0;
      if (body) for await (const chunk of body) bytes += chunk.length;
      return { bytes };
    },
  };
}

/**
 * The answer to one request.
 *
 * @param {string} url
 * @param {HttpRequest} request
 * @throws unless it tells of success
 */
export async function send(url, { method, path, headers, body }) {
  const response = await fetch(url + path, {
    method,
    headers,
    ...(body === undefined ? {} : { body: /** @type {any} */ (body) }),
  });
  if (!response.ok) {
    const text = await response.text();
    throw new Error(`${path} answered ${response.status}: ${text.slice(0, 300)}`);
  }
  return response;
}
