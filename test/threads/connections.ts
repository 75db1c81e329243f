import { Agent, request } from "node:http";
import { ARROW_STREAM, type Json } from "../harness/client.js";
import type { Server } from "../harness/server.js";

export interface Reply {
  readonly status: number;
  readonly json: Json;
}

/** One connection, and thereby one of the server's threads. */
export interface Connection {
  post(path: string, body?: object | Uint8Array, key?: string): Promise<Reply>;
  close(): void;
}

/** Opens connections, which the kernel distributes over the server's threads. */
export function connections(server: Server, count: number): Connection[] {
  return Array.from({ length: count }, () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    return {
      post: (path, body = {}, key = server.key) => post(server, agent, path, body, key),
      close: () => agent.destroy(),
    };
  });
}

function post(
  server: Server,
  agent: Agent,
  path: string,
  body: object | Uint8Array,
  key: string,
): Promise<Reply> {
  const arrow = body instanceof Uint8Array;
  const headers = {
    authorization: `Bearer ${key}`,
    "content-type": arrow ? ARROW_STREAM : "application/json",
  };
  return new Promise((resolve, reject) => {
    const sent = request(`${server.url}${path}`, { agent, method: "POST", headers });
    sent.on("error", reject);
    sent.on("response", (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(parts).toString();
        const json = text === "" ? undefined : JSON.parse(text);
        resolve({ status: response.statusCode ?? 0, json });
      });
    });
    sent.end(arrow ? body : JSON.stringify(body));
  });
}
