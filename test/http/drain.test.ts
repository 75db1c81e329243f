import { Agent, request } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { type Server, startServer } from "../harness/server.js";
import { head } from "../harness/socket.js";

interface Reply {
  status: number;
  connection: string | undefined;
  bytes: number;
}

/** Sends one request over an agent. */
function send(server: Server, agent: Agent, path: string, body?: Uint8Array): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const type = { "content-type": "application/vnd.apache.arrow.stream" };
    const headers = { authorization: `Bearer ${server.key}`, ...(body && type) };
    const sent = request(`${server.url}${path}`, { agent, method: body ? "POST" : "GET", headers });
    sent.on("error", reject);
    sent.on("response", (response) => {
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.on("error", reject);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          connection: response.headers.connection,
          bytes,
        }),
      );
    });
    sent.end(body);
  });
}

describe("a stopping server", () => {
  it("drops no request under load and exits with 0", async () => {
    const server = await startServer();
    const agents = Array.from({ length: 8 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
    const replies: Reply[] = [];
    const failures: unknown[] = [];
    const clients = agents.map(async (agent) => {
      for (;;) {
        const reply = await send(server, agent, "/v1/table");
        replies.push(reply);
        if (reply.connection === "close") return;
      }
    });
    const all = Promise.all(clients.map((client) => client.catch((error) => failures.push(error))));
    await sleep(300);
    const before = replies.length;
    const exit = server.stop();
    await all;
    expect(await exit).toBe(0);
    expect(failures).toEqual([]);
    expect(before).toBeGreaterThan(0);
    expect(replies.every((reply) => reply.status === 200)).toBe(true);
    expect(replies.filter((reply) => reply.connection === "close")).toHaveLength(8);
  });

  it("completes an upload, reports that it is not ready and then exits", async () => {
    const server = await startServer();
    const bytes = items(20_000);
    const socket = connect(server.port, "127.0.0.1");
    let answer = "";
    socket.on("data", (chunk) => {
      answer += chunk;
    });
    const closed = new Promise((resolve) => socket.on("close", resolve));
    socket.write(
      head(
        "POST /v1/table/late/create HTTP/1.1",
        "Host: x",
        `Authorization: Bearer ${server.key}`,
        `Content-Length: ${bytes.length}`,
      ),
    );
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const open = connect(server.port, "127.0.0.1");
    socket.write(bytes.subarray(0, bytes.length / 2));
    await sleep(200);
    const exit = server.stop();
    await sleep(300);
    await expect(send(server, agent, "/readyz"), "new connections are refused").rejects.toThrow();
    open.write(head("GET /readyz HTTP/1.1", "Host: x"));
    const ready = await new Promise((resolve) => open.once("data", resolve));
    expect(String(ready)).toMatch(/^HTTP\/1.1 503 .*onnection: close/s);
    socket.write(bytes.subarray(bytes.length / 2));
    await closed;
    expect(answer).toMatch(/^HTTP\/1.1 200 OK/);
    expect(await exit).toBe(0);
  });

  it("waits at most --drain-timeout and exits at once on a second signal", async () => {
    const hang = async (args: string[]) => {
      const server = await startServer({ args });
      const socket = connect(server.port, "127.0.0.1");
      socket.on("error", () => {});
      socket.write(
        head(
          "POST /v1/table/never/create HTTP/1.1",
          "Host: x",
          `Authorization: Bearer ${server.key}`,
          "Content-Length: 1000000",
        ),
      );
      await sleep(200);
      return server;
    };
    const bounded = await hang(["--drain-timeout", "500ms"]);
    const started = performance.now();
    expect(await bounded.stop()).toBe(0);
    expect(performance.now() - started).toBeLessThan(5_000);

    const ordered = await hang([]);
    process.kill(ordered.pid, "SIGINT");
    await sleep(300);
    expect(await ordered.stop("SIGINT")).toBe(1);
  });
});
