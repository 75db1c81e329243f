import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import type { Authenticator } from "../../src/auth/authenticator.js";
import type { QueryAnswer } from "../../src/engine/index.js";
import { ReplyLimiter, type SendingReply } from "../../src/http/reply-limiter.js";
import { head } from "../harness/socket.js";
import { waitFor } from "../harness/wait-for.js";
import { plain, setupSmallServer } from "./small-server.js";

/** A response that holds this many bytes for a client that has been slow for this many seconds. */
const sending = (callerId: string, heldBytes: number, seconds: number): SendingReply => ({
  callerId,
  heldBytes,
  slowMs: seconds * 1_000,
});

describe("the memory limit for responses to slow clients", () => {
  const limiter = new ReplyLimiter(100, 250);
  const cut = (all: ReturnType<typeof sending>[]) =>
    limiter.excess(all).map(({ callerId, slowMs }) => `${callerId}${slowMs / 1_000}`);

  it("cuts off a caller's slowest responses until the rest fits", () => {
    const all = [sending("a", 60, 9), sending("a", 60, 30), sending("a", 60, 20)];
    expect(cut(all)).toEqual(["a30", "a20"]);
    expect(cut([...all, sending("b", 90, 50)])).toEqual(["a30", "a20"]);
    expect(cut([sending("a", 60, 9), sending("a", 40, 8)])).toEqual([]);
  });

  it("ignores clients that keep up, whatever their responses hold", () => {
    expect(cut([1, 2, 3, 4].map((seconds) => sending("a", 90, seconds)))).toEqual([]);
    expect(cut([sending("a", 0, 90), sending("a", 0, 90)])).toEqual([]);
  });

  it("spares a caller's only slow response while the responses of all callers fit", () => {
    expect(cut([sending("a", 1_000, 60)])).toEqual([]);
    expect(cut([sending("a", 240, 60), sending("b", 5, 70)])).toEqual([]);
    expect(cut(["a", "b", "c", "d"].map((caller, at) => sending(caller, 90, 60 + at)))).toEqual([
      "d63",
      "c62",
    ]);
  });

  it("is a share of the request memory and is divided among the threads", () => {
    const mib = 2 ** 20;
    const of = (threads: number) => ReplyLimiter.of(400 * mib, threads);
    const two = (held: number) => [sending("a", held, 8), sending("a", held, 9)];
    expect(of(1).excess(two(50 * mib))).toHaveLength(0);
    expect(of(1).excess(two(51 * mib))).toHaveLength(1);
    expect(of(2).excess(two(26 * mib))).toHaveLength(1);
  });
});

const part = randomBytes(4 * 2 ** 20);
/** Callers whose responses have ended, in order. */
const ended: string[] = [];

/** An endless response that holds 60 bytes. */
const endless = (caller: string): QueryAnswer => {
  const rest = {
    held: 60,
    async next() {
      await new Promise((resolve) => setTimeout(resolve, 5));
      return part;
    },
    cancel() {
      ended.push(caller);
    },
  };
  return { version: 1, done: false, first: part, rest } as unknown as QueryAnswer;
};

/** The key identifies the caller. */
const byKey: Authenticator = {
  identify: (key) => ({ id: key, name: key, role: "admin", groups: [] }),
};
const small = setupSmallServer({
  authenticator: byKey,
  replyLimiter: new ReplyLimiter(100, 1_000),
  operations: [
    plain({ id: "endless", path: "/endless", methods: ["GET"] }, async (call) => ({
      kind: "arrow",
      contentType: "application/vnd.apache.arrow.file",
      answer: endless(call.header("x-api-key")),
    })),
  ],
});

const sockets: Socket[] = [];
afterAll(() => {
  for (const socket of sockets) socket.destroy();
});

/**
 * Requests a response and reads the received data at an interval in ms; without an interval it reads
 * nothing.
 */
function reader(caller: string, everyMs?: number): void {
  const socket = connect(Number(new URL(small.url).port), "127.0.0.1");
  sockets.push(socket);
  socket.on("error", () => {});
  socket.pause();
  socket.write(head("GET /endless HTTP/1.1", "Host: x", `x-api-key: ${caller}`));
  if (everyMs === undefined) return;
  const timer = setInterval(() => socket.read(), everyMs);
  socket.on("close", () => clearInterval(timer));
}

it("only connections of a caller with slow clients are closed", async () => {
  reader("slow");
  reader("slow");
  // Reads often enough to count as fast.
  reader("slow", 3_000);
  reader("other");
  for (let one = 0; one < 3; one++) reader("fast", 2);
  await waitFor("two of three are cut off", () => ended.length >= 2, { timeoutMs: 40_000 });
  await sleep(9_000);
  expect(ended).toEqual(["slow", "slow"]);
}, 60_000);
