import { connect, type Socket } from "node:net";
import { Type } from "@sinclair/typebox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Upload } from "../../src/engine/index.js";
import { expectFailure } from "../harness/expect-failure.js";
import { head } from "../harness/socket.js";
import { waitFor } from "../harness/wait-for.js";
import { plain, setupSmallServer } from "./small-server.js";

/** What the running handlers wait for. */
const gates: (() => void)[] = [];
let cancelled = 0;
let ended = 0;
let timeLeft: number | undefined;

/** A handler that replies when the test says so. */
async function waiting(call: { onAbort(work: () => void): void; timeLeftMs: number | undefined }) {
  call.onAbort(() => cancelled++);
  timeLeft = call.timeLeftMs;
  await new Promise<void>((resolve) => gates.push(resolve));
  ended++;
  return { kind: "json", value: "done" } as const;
}

const json = { kind: "json", schema: Type.Object({}) } as const;
const operations = [
  plain({ id: "Read", path: "/v1/thing/{id}/read", body: json }, waiting),
  plain({ id: "Write", path: "/v1/thing/{id}/write", permission: "write", body: json }, waiting),
  plain(
    { id: "Insert", path: "/v1/thing/{id}/insert", permission: "write", body: { kind: "arrow" } },
    async (call) => {
      if (!(call.payload instanceof Upload)) return waiting(call);
      const upload = call.payload;
      await new Promise<void>((resolve) => gates.push(resolve));
      return { kind: "json", value: upload instanceof Upload };
    },
  ),
];
const translations = [{ operation: "Insert" }, { operation: "Write" }];

beforeEach(() => {
  cancelled = 0;
  ended = 0;
  timeLeft = undefined;
});

const sockets: Socket[] = [];
afterEach(() => {
  for (const open of gates.splice(0)) open();
  for (const socket of sockets.splice(0)) socket.destroy();
});

const openGate = () => waitFor("a handler runs", () => gates.shift()).then((open) => open());
const arrow = "application/vnd.apache.arrow.stream";

describe("a request with x-request-timeout-ms", () => {
  const small = setupSmallServer({ operations, translations });
  const send = (path: string, timeout: string, body: object | Uint8Array = {}) =>
    small.client.request(path, { body, headers: { "x-request-timeout-ms": timeout } });

  it("gets 504 at its deadline, and its work is cancelled", async () => {
    const answer = await send("/v1/thing/a/read", "50");
    expectFailure(
      answer,
      504,
      17,
      /^the request took longer than 50 ms, the limit that `x-request-timeout-ms` sets: ask for less/,
    );
    expect(answer.headers.get("retry-after")).toBeNull();
    expect(cancelled).toBe(1);
    expect(timeLeft).toBeLessThanOrEqual(50);
    expect(timeLeft).toBeGreaterThan(0);
    // The connection stays usable, and the late reply of the handler is discarded.
    await openGate();
    await waitFor("the handler has ended", () => ended === 1);
    const next = send("/v1/thing/a/read", "60000");
    await openGate();
    expect((await next).json).toBe("done");
    expect(cancelled).toBe(1);
  });

  it("is not affected before its deadline", async () => {
    const answer = send("/v1/thing/a/read", "999999999999999");
    await openGate();
    expect((await answer).json).toBe("done");
    expect(timeLeft).toBeUndefined();
  });

  it("gets the answer that the outcome of a write is unknown, and the write continues", async () => {
    const answer = await send("/v1/thing/a/write", "50");
    expectFailure(answer, 504, 17, /it still runs and may take effect, so its outcome is unknown/);
    expect([cancelled, ended]).toEqual([0, 0]);
    await openGate();
    await waitFor("the write has ended", () => ended === 1);
  });

  it("with rows gets the same answer, except from a LanceDB SDK, which would send the rows again", async () => {
    const rows = new Uint8Array(1_000);
    const answer = await send("/v1/thing/a/insert", "50", rows);
    expectFailure(answer, 504, 17, /its outcome is unknown/);
    await openGate();
    await waitFor("the write has ended", () => ended === 1);
    const fromSdk = send("/v1/thing/a/insert/", "50", rows);
    const other = await send("/v1/thing/a/insert", "100", rows);
    expect(other.status).toBe(504);
    // Both handlers run; the deadline of the first one passed before that of the second one.
    await openGate();
    await openGate();
    expect((await fromSdk).json).toBe("done");
  });

  it.each(["", "0", "-5", "1.5", "1e3", "soon", "1".repeat(16)])(
    "gets 400 if the header is %j",
    async (header) => {
      const answer = await send("/v1/thing/a/read", header);
      expectFailure(answer, 400, 13, /`x-request-timeout-ms` must be an integer number of millis/);
    },
  );

  it.each([
    ["an unfinished JSON body", "read", "application/json", 100],
    ["an unfinished JSON body of a write", "write", "application/json", 100],
    ["an unfinished short upload", "insert", arrow, 100],
  ])("gets 504 that nothing changed for %s", async (_, path, type, length) => {
    const { port } = new URL(small.url);
    const socket = connect(Number(port), "127.0.0.1");
    sockets.push(socket);
    let answer = "";
    let closed = false;
    socket.on("data", (chunk) => (answer += chunk));
    socket.on("close", () => (closed = true));
    const lines = [`POST /v1/thing/a/${path} HTTP/1.1`, "Host: x", `Content-Type: ${type}`];
    socket.write(head(...lines, `Content-Length: ${length}`, "X-Request-Timeout-Ms: 50"));
    socket.write("{");
    await waitFor("the reply", () => answer.includes("\r\n\r\n{"));
    expect(answer).toMatch(/^HTTP\/1\.1 504 Gateway Timeout\r\n/);
    expect(answer).toContain("it changed nothing; allow more time");
    await waitFor("the server closes the connection", () => closed);
    expect(gates).toHaveLength(0);
  });
});

describe("a server with --request-timeout", () => {
  const small = setupSmallServer({ operations, config: { requestTimeoutMs: 50 } });

  it("ends requests without a deadline of their own, and those with a later one", async () => {
    for (const headers of [{}, { "x-request-timeout-ms": "60000" }]) {
      const answer = await small.client.request("/v1/thing/a/read", { body: {}, headers });
      expectFailure(answer, 504, 17, /longer than 50 ms, the limit that `--request-timeout` sets/);
    }
  });

  it("observes an earlier deadline of the client", async () => {
    const headers = { "x-request-timeout-ms": "20" };
    const answer = await small.client.request("/v1/thing/a/read", { body: {}, headers });
    expectFailure(answer, 504, 17, /longer than 20 ms, the limit that `x-request-timeout-ms` sets/);
  });
});
