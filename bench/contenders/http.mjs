/** @import { Answer, Ask, Running, Scenario } from "../types.js" @import { HttpRequest } from "../load/http.mjs" */
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { httpLoad } from "../load/http.mjs";

/** Bytes that are read from a file and sent at a time: the sender shall be no slower than who receives. */
const PIECE = 1024 * 1024;
/** The longest body that is announced by its length: some HTTP parsers read nine digits. */
const LONGEST = 999_999_999;

/**
 * How a server is spoken to.
 *
 * @typedef {object} Dialect
 * @property {string} url
 * @property {(table: string, ask: Ask) => HttpRequest} request
 * @property {(ask: Ask, response: Response) => Promise<Answer>} read
 * @property {(scenario: Scenario) => string | undefined} refuses why it can't be asked that
 * @property {(table: string, file: string) => Promise<void>} create a table out of an Arrow IPC stream
 * @property {(table: string) => Promise<void>} [drop]
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
  const { url, request, read, refuses, create, drop } = dialect;
  return {
    pid,
    refuses,
    create,
    ...(drop && { drop }),
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

/**
 * Sends a file as the body of a request.
 *
 * @param {string} url
 * @param {Omit<HttpRequest, "body">} head
 * @param {string} file
 * @throws unless the answer tells of success
 */
export async function sendFile(url, { method, path, headers }, file) {
  const { size } = await stat(file);
  const length = size > LONGEST ? {} : { "content-length": String(size) };
  const request = httpRequest(url + path, { method, headers: { ...headers, ...length } });
  const sent = pipeline(createReadStream(file, { highWaterMark: PIECE }), request);
  // Who refuses does not read on: the answer says why, and ends the upload.
  sent.catch(() => {});
  const [response] = await once(request, "response");
  const answer = await text(response);
  if (response.statusCode < 200 || response.statusCode > 299) {
    request.destroy();
    throw new Error(`${path} answered ${response.statusCode}: ${answer.slice(0, 300)}`);
  }
  await sent;
}
