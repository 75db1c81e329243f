import { createHash, randomBytes } from "node:crypto";
import { request } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { QueryAnswer } from "../../src/engine/index.js";
import { head } from "../harness/socket.js";
import { waitFor } from "../harness/wait-for.js";
import { plain, setupSmallServer } from "./small-server.js";

const KiB = 1024;
/** Sizes around every limit of the sender, in total several times the socket buffer. */
const sizes = [1, 999, 16_000, 31_999, 32_000, 32_001, 16 * KiB, 4_000 * KiB, 7, 20_000 * KiB, 100];
const parts = sizes.map((size) => randomBytes(size));
const total = sizes.reduce((sum, size) => sum + size, 0);
const digest = parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest("hex");

let cancelled = 0;
let produced = 0;

/** A response with parts of chosen sizes. */
function answerOf(all: readonly Buffer[], options: { endless?: boolean; fails?: boolean } = {}) {
  let at = 0;
  produced = 0;
  const rest = {
    async next() {
      await new Promise((resolve) => setImmediate(resolve));
      at += 1;
      produced += 1;
      if (options.fails && at === 2) throw new Error("the disk is gone");
      return (options.endless ? all[0] : all[at]) ?? null;
    },
    cancel() {
      cancelled += 1;
    },
  };
  const done = all.length === 1 && !options.endless;
  return { version: 1, done, first: all[0], rest } as unknown as QueryAnswer;
}

const stream = (id: string, answer: () => QueryAnswer) =>
  plain({ id, path: `/${id}`, methods: ["GET", "POST"] }, async () => ({
    kind: "arrow",
    contentType: "application/vnd.apache.arrow.file",
    answer: answer(),
  }));

const small = setupSmallServer({
  operations: [
    stream("parts", () => answerOf(parts)),
    stream("whole", () => answerOf([parts[9] as Buffer])),
    stream("endless", () => answerOf([parts[7] as Buffer], { endless: true })),
    stream("fails", () => answerOf(parts, { fails: true })),
  ],
});

/** Reads a response to its end with a pause of `stall` ms after every `every` bytes. */
function read(path: string, stall = 0, every = Number.POSITIVE_INFINITY) {
  return new Promise<{ bytes: number; sha256: string; length: string | undefined }>(
    (resolve, reject) => {
      request(`${small.url}${path}`, { method: "POST" }, async (response) => {
        const hash = createHash("sha256");
        let bytes = 0;
        let pauseAt = 0;
        try {
          for await (const chunk of response) {
            hash.update(chunk);
            bytes += chunk.length;
            if (stall > 0 && bytes >= pauseAt) {
              pauseAt = bytes + every;
              await sleep(stall);
            }
          }
        } catch (error) {
          reject(error);
        }
        resolve({ bytes, sha256: hash.digest("hex"), length: response.headers["content-length"] });
      })
        .on("error", reject)
        .end();
    },
  );
}

describe("a streamed response", () => {
  it("arrives complete and unchanged each time", async () => {
    for (let round = 0; round < 20; round++) {
      expect(await read("/parts")).toEqual({ bytes: total, sha256: digest, length: undefined });
    }
  });

  it("arrives unchanged at a client that pauses", async () => {
    const replies = await Promise.all([
      read("/parts", 30, 500 * KiB),
      read("/parts", 100, 2_000 * KiB),
      read("/parts", 5, 64 * KiB),
    ]);
    for (const reply of replies) expect(reply).toMatchObject({ bytes: total, sha256: digest });
  });

  it("survives a client that pauses for longer than the socket timeout", async () => {
    const [streamed, whole] = await Promise.all([
      read("/parts", 14_000, 30_000 * KiB),
      read("/whole", 14_000, 30_000 * KiB),
    ]);
    expect(streamed).toMatchObject({ bytes: total, sha256: digest });
    expect(whole.bytes).toBe(sizes[9]);
  }, 60_000);

  it("is produced no faster than the client reads", async () => {
    const socket = connect(Number(new URL(small.url).port), "127.0.0.1");
    socket.pause();
    socket.write(head("GET /endless HTTP/1.1", "Host: x"));
    await sleep(1_000);
    const made = produced;
    await sleep(1_000);
    expect(produced).toBe(made);
    socket.destroy();
  });

  it("is no longer produced after the client disconnects", async () => {
    const before = cancelled;
    const socket = connect(Number(new URL(small.url).port), "127.0.0.1");
    socket.write(head("GET /endless HTTP/1.1", "Host: x"));
    await new Promise((resolve) => socket.once("data", resolve));
    socket.destroy();
    await waitFor("the work is cancelled", async () => cancelled > before);
    const made = produced;
    await sleep(200);
    expect(produced).toBe(made);
  });

  it("is cut off visibly if it fails midway", async () => {
    await expect(read("/fails")).rejects.toThrow(/aborted|hang up|reset/);
  });
});

describe("a response in one piece", () => {
  it("has a content-length", async () => {
    const reply = await read("/whole", 10, 3_000 * KiB);
    expect(reply).toMatchObject({ bytes: sizes[9], length: String(sizes[9]) });
  });
});

describe("a draining server", () => {
  it("sends the rest of a response to slow clients", async () => {
    const slow = Promise.all([read("/parts", 60, 1_000 * KiB), read("/whole", 60, 1_000 * KiB)]);
    await sleep(150);
    expect(await small.server.drain(20_000)).toBe(true);
    const [streamed, whole] = await slow;
    expect(streamed).toMatchObject({ bytes: total, sha256: digest });
    expect(whole.bytes).toBe(sizes[9]);
  });
});
