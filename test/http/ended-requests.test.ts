/** Requests that end before their handler begins: while the server looks up their caller, or reads their body. */
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import type { Authenticator, Identity } from "../../src/auth/authenticator.js";
import type { Upload } from "../../src/engine/index.js";
import { BodyLimiter } from "../../src/http/body-limiter.js";
import type { Headers } from "../../src/http/headers.js";
import { HttpRequest, type ServerContext } from "../../src/http/http-request.js";
import type { TransportResponse } from "../../src/http/transport/transport.js";
import { LimitExceeded } from "../../src/limits/limit-exceeded.js";
import type { Limiter } from "../../src/limits/limiter.js";
import { head } from "../harness/socket.js";
import { waitFor } from "../harness/wait-for.js";
import { plain, setupSmallServer } from "./small-server.js";

const caller: Identity = { id: "1", name: "caller", role: "write", groups: [] };
/** The lookups of callers that have not ended, oldest first. */
const lookups: ((found?: Identity) => void)[] = [];
const authenticator: Authenticator = {
  identify: () => new Promise((resolve) => lookups.push(resolve)),
};

/** The bodies of the handlers that ran. */
const handled: unknown[] = [];
const operations = [
  plain({ id: "Set", path: "/v1/thing/{id}/set", permission: "write" }, ({ payload }) => {
    handled.push(payload);
    return { kind: "json", value: {} };
  }),
  plain(
    { id: "Insert", path: "/v1/thing/{id}/insert", permission: "write", body: { kind: "arrow" } },
    ({ payload }) => {
      handled.push(payload);
      return { kind: "json", value: {} };
    },
  ),
];

const sockets: Socket[] = [];
afterEach(() => {
  handled.length = 0;
  lookups.length = 0;
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** Sends the head of a request and a part of its body. `before`: what the connection sends before it. */
function send(url: string, path: string, type: string, length: number, part: string, before = "") {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  sockets.push(socket);
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk;
  });
  const lines = ["Host: x", `Content-Type: ${type}`, `Content-Length: ${length}`];
  socket.write(before + head(`POST /v1/thing/a/${path} HTTP/1.1`, ...lines) + part);
  return { leave: () => socket.destroy(), answer: () => answer };
}

async function endLookups(found?: Identity): Promise<void> {
  for (const end of lookups.splice(0)) end(found);
  // Handlers of complete bodies run in the same turn.
  await sleep(50);
}

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

const arrow = "application/vnd.apache.arrow.stream";

describe("a request that ends while its caller is looked up", () => {
  const known = counter();
  const unknown = counter();
  let uploads = 0;
  const small = setupSmallServer({
    operations,
    authenticator,
    bodyLimiter: new BodyLimiter(1 << 20, known),
    unauthenticatedBodyLimiter: new BodyLimiter(100, unknown),
    openUpload() {
      uploads++;
      return { push: () => true, finish() {}, abort() {}, discard() {} } as unknown as Upload;
    },
  });
  const text = JSON.stringify({ text: "x".repeat(70) });
  const set = () => send(small.url, "set", "application/json", text.length, text);
  const nothingInFlight = () =>
    waitFor("no request is in flight", () => small.server.inFlight.size === 0);

  it("runs no handler after its client has disconnected", async () => {
    const request = set();
    await waitFor("the body is complete", () => unknown.taken === text.length);
    request.leave();
    await nothingInFlight();
    expect(unknown.taken).toBe(0);
    await endLookups(caller);
    expect(handled).toEqual([]);
  });

  it("runs no handler after it got 429 for its body", async () => {
    set();
    await waitFor("the first body is complete", () => unknown.taken === text.length);
    const second = set();
    await waitFor("the reply to the second request", () => second.answer() !== "");
    expect(second.answer()).toMatch(/^HTTP\/1\.1 429 /);
    await endLookups(caller);
    expect(handled).toEqual([JSON.parse(text)]);
    expect(unknown.taken).toBe(0);
  });

  it.each([100_000, 60_000])(
    "neither opens an upload nor keeps memory for a body of %d bytes",
    async (length) => {
      const request = send(small.url, "insert", arrow, length, "abc");
      await waitFor("a part of the body is here", () => unknown.taken === 3);
      request.leave();
      await nothingInFlight();
      await endLookups(caller);
      expect([uploads, handled, known.taken, unknown.taken]).toEqual([0, [], 0, 0]);
    },
  );
});

describe("a request beyond the budget of requests without a key", () => {
  const unknown = counter();
  const small = setupSmallServer({
    operations,
    authenticator,
    unauthenticatedBodyLimiter: new BodyLimiter(1 << 20, unknown),
    limiter: {
      admitUnauthenticated() {
        throw new LimitExceeded("requests_per_second", "unauthenticated", "too many", 1);
      },
    } as unknown as Limiter,
  });

  it("keeps no memory for the rest of its body", async () => {
    const part = "x".repeat(300_000);
    const request = send(small.url, "insert", arrow, 1_000_000, part);
    await waitFor("the server stops reading", () => unknown.taken > 64 * 1024);
    await endLookups();
    await waitFor("the reply", () => request.answer() !== "");
    expect(request.answer()).toMatch(/^HTTP\/1\.1 429 /);
    await sleep(200);
    expect(unknown.taken).toBe(0);
  });
});

describe("a request that waits for an earlier reply of its connection", () => {
  const known = counter();
  const small = setupSmallServer({
    operations: [
      ...operations,
      plain({ id: "Wait", path: "/v1/thing/{id}/wait" }, () => new Promise(() => {})),
    ],
    // uWebSockets.js closes a connection whose next request arrives before the reply.
    config: { http: "node" },
    bodyLimiter: new BodyLimiter(1 << 20, known),
  });

  it("ends with its connection and releases the memory of its body", async () => {
    const first = head("POST /v1/thing/a/wait HTTP/1.1", "Host: x", "Content-Length: 0");
    const request = send(small.url, "set", "application/json", 10, "{", first);
    await waitFor("a part of the body is here", () => known.taken === 1);
    expect(small.server.inFlight.size).toBe(2);
    request.leave();
    await waitFor("no request is in flight", () => small.server.inFlight.size === 0, {
      timeoutMs: 5_000,
    });
    expect(known.taken).toBe(0);
  });
});

describe("work to run when a request is cancelled", () => {
  it("runs at once if the request is cancelled already", () => {
    const headers = { announcesBody: false, requestId: () => "id" } as unknown as Headers;
    const response = {} as TransportResponse;
    const request = new HttpRequest({} as ServerContext, response, headers, "/", false);
    const ran: string[] = [];
    request.onAbort(() => ran.push("before"));
    request.cancelWork();
    request.onAbort(() => ran.push("after"));
    expect(ran).toEqual(["before", "after"]);
  });
});
