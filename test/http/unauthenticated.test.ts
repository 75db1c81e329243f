import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Type } from "@sinclair/typebox";
import { afterEach, describe, expect, it } from "vitest";
import type { Authenticator, Identity } from "../../src/auth/authenticator.js";
import type { ArrowBody } from "../../src/engine/index.js";
import { BodyLimiter } from "../../src/http/body-limiter.js";
import { items } from "../harness/arrow.js";
import { setupServer } from "../harness/setup-server.js";
import { head, sendRaw } from "../harness/socket.js";
import { waitFor } from "../harness/wait-for.js";
import { plain, setupSmallServer } from "./small-server.js";

const KEY = "the-key";
const identity: Identity = { id: "1", name: "known", role: "write", groups: [] };
const known: Authenticator = { identify: (key) => (key === KEY ? identity : undefined) };
/** Looks keys up asynchronously, like a database. */
const slowly: Authenticator = {
  async identify(key) {
    await sleep(100);
    return known.identify(key);
  },
};

const MIB = 1024 * 1024;
let handled = 0;
const operations = [
  plain(
    {
      id: "Json",
      path: "/v1/thing/{id}/json",
      body: { kind: "json", schema: Type.Object({ text: Type.String() }) },
    },
    ({ payload }) => {
      handled++;
      return { kind: "json", value: payload.text.length };
    },
  ),
  plain(
    { id: "Arrow", path: "/v1/thing/{id}/arrow", permission: "write", body: { kind: "arrow" } },
    ({ payload }) => {
      handled++;
      const body = payload as ArrowBody;
      return { kind: "json", value: body instanceof Uint8Array ? body.byteLength : "a stream" };
    },
  ),
];

function counter() {
  let taken = 0;
  return {
    get taken() {
      return taken;
    },
    add(bytes: number) {
      taken += bytes;
      return taken - bytes;
    },
  };
}

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** A connection that sends some bytes and then stops. */
function begin(
  url: string,
  ...parts: (string | Uint8Array)[]
): { socket: Socket; answer(): string } {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk;
  });
  socket.on("error", () => {});
  sockets.push(socket);
  for (const part of parts) socket.write(part);
  return { socket, answer: () => answer };
}

describe("an unauthenticated caller", () => {
  const limiter = counter();
  const unknown = counter();
  const small = setupSmallServer({
    operations,
    authenticator: known,
    config: { maxJsonBytes: 16 * MIB, maxUploadBytes: 100 },
    bodyLimiter: new BodyLimiter(16 * MIB, limiter),
    unauthenticatedBodyLimiter: new BodyLimiter(2 * MIB, unknown),
  });
  const json = { "content-type": "application/json" };
  const ask = (path: string, method: string, headers: Record<string, string>, body?: string) =>
    small.client.request(path, { method, headers, ...(body !== undefined && { body }) });

  it.each<[string, string, string, Record<string, string>, string?]>([
    ["a broken body", "/v1/thing/a/json", "POST", json, "{"],
    ["a body that is not an object", "/v1/thing/a/json", "POST", json, "[]"],
    ["a body that is nested too deeply", "/v1/thing/a/json", "POST", json, '{"a":'.repeat(1000)],
    ["a body that does not match the schema", "/v1/thing/a/json", "POST", json, '{"text": 1}'],
    [
      "an identity that does not match the schema",
      "/v1/thing/a/json",
      "POST",
      json,
      '{"identity": 7}',
    ],
    ["a key of the wrong type", "/v1/thing/a/json", "POST", json, '{"identity": {"api_key": 7}}'],
    ["a body that is too large", "/v1/thing/a/json", "POST", json, " ".repeat(3 * MIB)],
    [
      "a content type other than JSON",
      "/v1/thing/a/json",
      "POST",
      { "content-type": "text/csv" },
      "a",
    ],
    [
      "a content type other than Arrow",
      "/v1/thing/a/arrow",
      "POST",
      { "content-type": "text/csv" },
      "a",
    ],
    ["an upload that is too large", "/v1/thing/a/arrow", "POST", {}, "x".repeat(1000)],
    ["an invalid id", "/v1/thing/a$$b/json", "POST", json, "{}"],
    ["an id that is not UTF-8", "/v1/thing/%FF/json", "POST", json, "{}"],
    ["a query string that is not UTF-8", "/v1/thing/a/json?a=%FF", "POST", json, "{}"],
    ["an invalid idempotency key", "/v1/thing/a/arrow", "POST", { "idempotency-key": "" }, "x"],
    ["a method that the path does not allow", "/v1/thing/a/json", "DELETE", {}],
    ["an OPTIONS request", "/v1/thing/a/json", "OPTIONS", {}],
    ["an unknown path", "/v1/other", "GET", {}],
    ["an unknown path and a body", "/v1/other", "POST", json, "{"],
  ])("gets 401 for %s", async (_, path, method, headers, body) => {
    for (const key of [{}, { "x-api-key": "wrong" }, { authorization: "Basic eDp5" }]) {
      const answer = await ask(path, method, { ...headers, ...key }, body);
      expect([answer.status, answer.json.code]).toEqual([401, 16]);
    }
    expect(handled).toBe(0);
    expect([limiter.taken, unknown.taken]).toEqual([0, 0]);
  });

  it("uses no memory of authenticated callers and little of its own", async () => {
    const lines = head(
      "POST /v1/thing/a/json HTTP/1.1",
      "Host: x",
      "Content-Type: application/json",
      `Content-Length: ${MIB}`,
    );
    const part = "x".repeat(MIB - 10);
    const begun = Array.from({ length: 20 }, () => begin(small.url, lines, part));
    await waitFor(
      "they have sent it",
      () => unknown.taken > MIB && small.server.inFlight.size === 20,
    );
    expect(unknown.taken).toBeLessThanOrEqual(2 * MIB);
    expect(limiter.taken).toBe(0);
    const own = await ask(
      "/v1/thing/a/json",
      "POST",
      { ...json, "x-api-key": KEY },
      `{"text": "${"x".repeat(3_000)}"}`,
    );
    expect([own.status, own.json]).toEqual([200, 3_000]);
    handled = 0;
    for (const { socket } of begun) socket.write("x".repeat(10));
    await waitFor("each has its 401", () => begun.every(({ answer }) => / 401 /.test(answer())));
    expect(unknown.taken).toBe(0);
  });

  it("can reuse the connection, and its rejected body is never parsed as a request", async () => {
    const lines = (key: string, length: number) =>
      head(
        "POST /v1/thing/a/json HTTP/1.1",
        "Host: x",
        key,
        "Content-Type: application/json",
        `Content-Length: ${length}`,
      );
    const hidden = `${lines(`X-Api-Key: ${KEY}`, 14)}{"text": "abc"}`;
    const { answer, socket } = begin(small.url, lines("X-Api-Key: wrong", hidden.length), hidden);
    await waitFor("the refusal", () => answer().includes(" 401 "));
    socket.write(`${lines(`X-Api-Key: ${KEY}`, 17)}{"text": "abcde"}`);
    await waitFor("the answer", () => answer().includes(" 200 "));
    expect(answer().match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 401", "HTTP/1.1 200"]);
    expect(answer().endsWith("\r\n\r\n5")).toBe(true);
    expect(handled).toBe(1);
    handled = 0;
  });

  it("is authenticated by a key in the body", async () => {
    const text = "x".repeat(MIB / 2);
    const body = JSON.stringify({ identity: { api_key: KEY }, text });
    expect((await ask("/v1/thing/a/json", "POST", json, body)).json).toBe(text.length);
    expect([limiter.taken, unknown.taken]).toEqual([0, 0]);
    handled = 0;
  });
});

describe("a body that arrives before the caller is authenticated", () => {
  const unknown = counter();
  const small = setupSmallServer({
    operations,
    authenticator: slowly,
    config: { maxJsonBytes: 4 * MIB },
    unauthenticatedBodyLimiter: new BodyLimiter(4 * MIB, unknown),
  });
  const send = (path: string, key: string, body: string | Uint8Array, type: string) =>
    small.client.request(path, { body, headers: { "x-api-key": key, "content-type": type } });
  const arrow = "application/vnd.apache.arrow.stream";

  it.each([10, 60_000, 3_000_000])(
    "reaches the handler completely: JSON of %d bytes",
    async (length) => {
      const body = JSON.stringify({ text: "x".repeat(length) });
      expect((await send("/v1/thing/a/json", KEY, body, "application/json")).json).toBe(length);
      expect((await send("/v1/thing/a/json", "wrong", body, "application/json")).status).toBe(401);
      expect(unknown.taken).toBe(0);
    },
  );

  it.each([10, 60_000, 3_000_000])(
    "reaches the handler completely: rows of %d bytes",
    async (length) => {
      const body = new Uint8Array(length);
      const whole = length < 64 * 1024 ? length : "a stream";
      expect((await send("/v1/thing/a/arrow", KEY, body, arrow)).json).toBe(whole);
      expect((await send("/v1/thing/a/arrow", "wrong", body, arrow)).status).toBe(401);
      expect(unknown.taken).toBe(0);
    },
  );

  it("reaches the handler in order if it arrives in parts", async () => {
    const body = '{"text": "abcdefgh"}';
    const request = head(
      "POST /v1/thing/a/json HTTP/1.1",
      "Host: x",
      `X-Api-Key: ${KEY}`,
      "Content-Type: application/json",
      `Content-Length: ${body.length}`,
    );
    const { answer, socket } = begin(small.url, request + body.slice(0, 5));
    await sleep(30);
    socket.write(body.slice(5, 9));
    await sleep(200);
    socket.write(body.slice(9));
    await waitFor("the answer", () => answer().endsWith("\r\n\r\n8"));
  });

  it("does not delay a request without a body", async () => {
    const request = head("GET /v1/thing/a/other HTTP/1.1", "Host: x", "X-Api-Key: wrong");
    expect((await sendRaw(small.url, [request], 500))?.status).toBe(401);
  });
});

describe("a server with a small memory budget", () => {
  const joust = setupServer({ args: ["--memory", "256MiB"] });

  it("serves authenticated callers while other clients send bodies without a key", async () => {
    const { client, server } = joust;
    await client.createTable("t", items(10));
    const lines = head(
      "POST /v1/table/t/count_rows HTTP/1.1",
      "Host: x",
      "Content-Type: application/json",
      `Content-Length: ${MIB}`,
    );
    const begun = Array.from({ length: 40 }, () => begin(server.url, lines, " ".repeat(MIB - 1)));
    await Promise.all(begun.map(({ socket }) => socketDrained(socket)));
    await sleep(300);
    const body = JSON.stringify({ predicate: "id >= 0", unknown: "x".repeat(3_000) });
    for (let request = 0; request < 10; request++) {
      const answer = await client.post("/v1/table/t/count_rows", body);
      expect([answer.status, answer.json]).toEqual([200, 10]);
    }
    for (const { socket } of begun) socket.write("{");
    await waitFor("each is refused", () => begun.every(({ answer }) => / 401 /.test(answer())));
  });
});

/** Resolves when the kernel has taken all bytes written to a socket. */
function socketDrained(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.write("", () => resolve()));
}
