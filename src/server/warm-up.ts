import { timingSafeEqual } from "node:crypto";
import { request as httpRequest, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Authenticator, Identity } from "../auth/authenticator.js";
import { hashKey, newKey } from "../auth/key.js";

/** The least number of queries: V8 compiles the hot code in several steps. */
const LEAST_QUERIES = 20;

const warmUpIdentity: Identity = {
  id: "prewarming",
  name: "prewarming",
  role: "read",
  groups: [],
};

/** A query that is valid for every table. */
const body = JSON.stringify({
  k: 1,
  vector: { single_vector: [] },
  columns: { column_names: [] },
});

/**
 * Sends queries to this server over its socket, so that V8 compiles the code before the first client
 * request. Until the queries are done it authenticates them with a temporary key.
 */
export class WarmUp implements Authenticator {
  readonly #key = newKey();
  #hash: Buffer | undefined = hashKey(this.#key);

  constructor(private readonly authenticator: Authenticator) {}

  identify(key: string): Identity | undefined | Promise<Identity | undefined> {
    const temporary = this.#hash;
    if (temporary && timingSafeEqual(hashKey(key), temporary)) return warmUpIdentity;
    return this.authenticator.identify(key);
  }

  /** Rejects if the server is unreachable. Ignores the replies. */
  async run(server: ListenAddress, ids: readonly (readonly string[])[]): Promise<void> {
    const headers = { authorization: `Bearer ${this.#key}`, "content-type": "application/json" };
    try {
      for (let n = 0; n < Math.max(LEAST_QUERIES, ids.length); n++) {
        const id = ids[n % ids.length] ?? [];
        const path = `/v1/table/${id.map(encodeURIComponent).join("$")}/query`;
        // The trailing slash selects the LanceDB dialect.
        for (const suffix of ["", "/"]) {
          await post(server, path + suffix, headers);
        }
      }
    } finally {
      this.#hash = undefined;
    }
  }
}

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}

function post(server: ListenAddress, path: string, headers: Record<string, string>): Promise<void> {
  const { port, tls } = server;
  // The certificate is this server's, but may not be valid for this address.
  const tlsOptions = { rejectUnauthorized: false };
  const options: RequestOptions = {
    host: loopbackOf(server.host),
    port,
    path,
    method: "POST",
    headers: { ...headers, "content-length": Buffer.byteLength(body) },
  };
  return new Promise((resolve, reject) => {
    const request = tls ? httpsRequest({ ...options, ...tlsOptions }) : httpRequest(options);
    request.on("error", reject);
    request.on("response", (reply) => reply.resume().on("end", resolve).on("error", reject));
    request.end(body);
  });
}

/** A loopback address in place of the wildcard address. */
function loopbackOf(host: string): string {
  const loopbacks: Record<string, string> = { "0.0.0.0": "127.0.0.1", "::": "::1" };
  return loopbacks[host] ?? host;
}
