/** @import { Answer, Operation, RunningContender, Scenario } from "../types.js" @import { HttpRequest } from "../load/generator.mjs" */
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { RecordBatchReader } from "apache-arrow";
import { generateLoad } from "../load/generator.mjs";

/** Bytes of one read from a file: large enough that the sender is not the bottleneck. */
const CHUNK_BYTES = 1024 * 1024;
/** The largest body with a content-length header: some HTTP parsers read at most nine digits. */
const MAX_CONTENT_LENGTH = 999_999_999;

/**
 * The translation of operations into requests of a server.
 *
 * @typedef {object} Dialect
 * @property {string} url
 * @property {(table: string, operation: Operation) => HttpRequest} request
 * @property {(operation: Operation, response: Response) => Promise<Answer>} read
 * @property {(scenario: Scenario) => string | undefined} checkSupported the reason why it does not support a scenario
 * @property {(table: string, file: string) => Promise<void>} create a table from a file with an Arrow IPC stream
 * @property {(table: string) => Promise<void>} [drop]
 * @property {(table: string) => HttpRequest} download reads every row and column
 * @property {(table: string, operation: Operation) => Promise<void>} [tune] called before a single operation
 */

/**
 * A running contender with an HTTP interface.
 *
 * @param {{ pid: number, stop(): Promise<void> }} program
 * @param {Dialect} dialect
 * @returns {RunningContender}
 */
export function httpContender({ pid, stop }, dialect) {
  const { url, request, read, checkSupported, create, drop } = dialect;
  return {
    pid,
    checkSupported,
    create,
    ...(drop && { drop }),
    stop,
    async answer(table, operation) {
      await dialect.tune?.(table, operation);
      return read(operation, await send(url, request(table, operation)));
    },
    load(table, operations, clients, seconds) {
      const requests = operations.map((operation) => request(table, operation));
      return generateLoad({ url, requests, clients, seconds });
    },
    async download(table) {
      return { bytes: await size(await send(url, dialect.download(table))) };
    },
    async result(table, operation, { checked }) {
      const response = await send(url, request(table, operation));
      return checked ? check(response) : { bytes: await size(response) };
    },
  };
}

/** Reads a body and discards it. @param {Response} response */
async function size({ body }) {
  let bytes = 0;
  if (body) for await (const chunk of body) bytes += chunk.length;
  return bytes;
}

/** Decodes a result: its rows and the sum of their ids. @param {Response} response */
async function check({ body }) {
  const result = { bytes: 0, rows: 0, sum: 0 };
  const reader = await RecordBatchReader.from(/** @type {any} */ (body));
  for await (const batch of reader) {
    result.rows += batch.numRows;
    const ids = /** @type {BigInt64Array} */ (batch.getChild("id").toArray());
    for (const id of ids) result.sum += Number(id);
  }
  return result;
}

/**
 * Sends one request and returns its successful response.
 *
 * @param {string} url
 * @param {HttpRequest} request
 * @throws if the status is not 2xx
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
 * @throws if the status is not 2xx
 */
export async function sendFile(url, { method, path, headers }, file) {
  const { size } = await stat(file);
  const length = size > MAX_CONTENT_LENGTH ? {} : { "content-length": String(size) };
  const request = httpRequest(url + path, { method, headers: { ...headers, ...length } });
  const sent = pipeline(createReadStream(file, { highWaterMark: CHUNK_BYTES }), request);
  // A server that rejects the request stops reading. Its response has the reason and ends the upload.
  sent.catch(() => {});
  const [response] = await once(request, "response");
  const answer = await text(response);
  if (response.statusCode < 200 || response.statusCode > 299) {
    request.destroy();
    throw new Error(`${path} answered ${response.statusCode}: ${answer.slice(0, 300)}`);
  }
  await sent;
}
