import { timingSafeEqual } from "node:crypto";
import { request as httpRequest, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Authenticator, Identity } from "../auth/authenticator.js";
import { hashKey, newKey } from "../auth/key.js";

/** Times that a table is asked, at least: the program is compiled in steps. */
const LEAST_QUERIES = 20;

const identity: Identity = { id: "prewarming", name: "prewarming", role: "read" };

/** Any table can be asked this. */
const body = JSON.stringify({
  k: 1,
  vector: { single_vector: [] },
  columns: { column_names: [] },
});

/**
 * Queries that the server asks itself, over its own socket, so that the first client does not wait for
 * the program to be compiled. Lets itself in by a key that only it knows, until it is done.
 */
export class WarmUp implements Authenticator {
  readonly #key = newKey();
  #hash: Buffer | undefined = hashKey(this.#key);

  constructor(private readonly others: Authenticator) {}

  identify(key: string): Identity | undefined | Promise<Identity | undefined> {
    const own = this.#hash;
    if (own && timingSafeEqual(hashKey(key), own)) return identity;
    return this.others.identify(key);
  }

  /** Rejects when the server can't be reached; what it answers is no matter. */
  async run(server: ListenAddress, ids: readonly (readonly string[])[]): Promise<void> {
    const headers = { authorization: `Bearer ${this.#key}`, "content-type": "application/json" };
    try {
      for (let time = 0; time < Math.max(LEAST_QUERIES, ids.length); time++) {
        const id = ids[time % ids.length] ?? [];
        const path = `/v1/table/${id.map(encodeURIComponent).join("$")}/query`;
        for (const dialect of ["", "/"]) {
          await post(server, path + dialect, headers);
        }
      }
    } finally {
      this.#hash = undefined;
    }
  }
}

/** Where this server listens. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}

function post(server: ListenAddress, path: string, headers: Record<string, string>): Promise<void> {
  const { port, tls } = server;
  // The certificate is this server's own, and may name other hosts than this address.
  const own = { rejectUnauthorized: false };
  const options: RequestOptions = {
    host: reachable(server.host),
    port,
    path,
    method: "POST",
    headers: { ...headers, "content-length": Buffer.byteLength(body) },
  };
  return new Promise((resolve, reject) => {
    const request = tls ? httpsRequest({ ...options, ...own }) : httpRequest(options);
    request.on("error", reject);
    request.on("response", (answer) => answer.resume().on("end", resolve).on("error", reject));
    request.end(body);
  });
}

/** An address of this host in place of "all of them". */
function reachable(host: string): string {
  const known: Record<string, string> = { "0.0.0.0": "127.0.0.1", "::": "::1" };
  return known[host] ?? host;
}
