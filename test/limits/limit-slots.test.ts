import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { LimitSlots } from "../../src/limits/limit-slots.js";
import { takeTokens } from "../../src/limits/token-bucket.js";

const SECOND = 1_000_000_000n;
const hourly = { perSecond: 1 / 3_600, burst: 1 };

const newSlots = (count: number, seed = "seed") => new LimitSlots(LimitSlots.allocate(count), seed);

describe("the slots of limits", () => {
  it("give each name its own state", () => {
    const slots = newSlots(256);
    const names = Array.from({ length: 32 }, (_, n) => `name ${n}`);
    for (const name of names) {
      expect(takeTokens(slots.of(name, SECOND).requests, hourly, 1, SECOND)).toBe(0n);
    }
    for (const name of names) {
      expect(takeTokens(slots.of(name, SECOND).requests, hourly, 1, SECOND)).toBeGreaterThan(0n);
    }
  });

  it("share the state among threads with the same memory and seed", () => {
    const buffer = LimitSlots.allocate(64);
    const [one, other] = [new LimitSlots(buffer, "seed"), new LimitSlots(buffer, "seed")];
    expect(takeTokens(one.of("key", SECOND).requests, hourly, 1, SECOND)).toBe(0n);
    expect(takeTokens(other.of("key", SECOND).requests, hourly, 1, SECOND)).toBeGreaterThan(0n);
  });

  it("count running queries", () => {
    const slots = newSlots(64);
    const begin = () => slots.of("key", SECOND).beginQuery(2);
    expect([begin(), begin(), begin()]).toEqual([true, true, false]);
    slots.of("key", SECOND).endQuery();
    expect([begin(), begin()]).toEqual([true, false]);
  });

  it("reuse the slots of names without state, so that many names fit", () => {
    const slots = newSlots(4);
    let now = SECOND;
    for (let n = 0; n < 1_000; n++) {
      const { requests } = slots.of(`name ${n}`, now);
      expect(takeTokens(requests, { perSecond: 1, burst: 1 }, 1, now)).toBe(0n);
      now += SECOND;
    }
  });

  it("do not reuse the slot of a name whose query runs", () => {
    const slots = newSlots(4);
    expect(slots.of("busy", SECOND).beginQuery(1)).toBe(true);
    for (let n = 0; n < 100; n++) slots.of(`name ${n}`, SECOND);
    expect(slots.of("busy", SECOND).beginQuery(1)).toBe(false);
  });

  it("are shared by the names that do not fit, which limits them together", () => {
    const slots = newSlots(2);
    let admitted = 0;
    for (let n = 0; n < 10; n++) {
      const { requests } = slots.of(`name ${n}`, SECOND);
      if (takeTokens(requests, hourly, 1, SECOND) === 0n) admitted += 1;
    }
    expect(admitted).toBe(2);
  });

  it("admit exactly the burst when several threads take tokens at once", async () => {
    const buffer = new SharedArrayBuffer(8);
    const url = new URL("../../build/limits/token-bucket.js", import.meta.url).href;
    const program = `
      const { parentPort, workerData } = require("node:worker_threads");
      import(${JSON.stringify(url)}).then(({ takeTokens }) => {
        const bucket = { words: new BigInt64Array(workerData), index: 0 };
        let admitted = 0;
        for (let n = 0; n < 20000; n++) {
          if (takeTokens(bucket, { perSecond: 1e-3, burst: 30000 }, 1, 5n) === 0n) admitted += 1;
        }
        parentPort.postMessage(admitted);
      });`;
    const counts = await Promise.all(
      [1, 2].map(
        () =>
          new Promise<number>((resolve, reject) => {
            const worker = new Worker(program, { eval: true, workerData: buffer });
            worker.once("message", resolve);
            worker.once("error", reject);
          }),
      ),
    );
    expect(counts.reduce((sum, count) => sum + count)).toBe(30_000);
  });
});
