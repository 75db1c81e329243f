import { afterEach, describe, expect, it, vi } from "vitest";
import { Workers, type WorkersOptions } from "../../src/server/workers.js";
import { quiet } from "../catalog/catalog-databases.js";

type Posted = { number: number; method: string };

/** The threads that `Workers` has started. They answer all calls except `endTableWork`. */
const { threads, FakeWorker } = await vi.hoisted(async () => {
  const { EventEmitter } = await import("node:events");
  class FakeWorker extends EventEmitter {
    hasExited = false;

    constructor() {
      super();
      threads.push(this);
    }

    postMessage({ number, method }: Posted) {
      if (this.hasExited || method === "endTableWork") return;
      queueMicrotask(() => this.emit("message", { kind: "value", number, value: undefined }));
    }

    async terminate() {
      await undefined;
      this.hasExited = true;
      this.emit("exit", 1);
    }
  }
  const threads: FakeWorker[] = [];
  return { threads, FakeWorker };
});

vi.mock("node:worker_threads", async (original) => ({
  ...(await original<object>()),
  Worker: FakeWorker,
}));

afterEach(() => {
  threads.length = 0;
});

describe("a worker thread that has exited", () => {
  const start = () => {
    const ended: string[] = [];
    const workers = new Workers(async (key) => void ended.push(key));
    workers.start({ count: 1, input: {}, targets: {}, log: quiet } as unknown as WorkersOptions);
    return { workers, ended };
  };

  it("has no work on a table", async () => {
    const { workers, ended } = start();
    await workers.stop();
    await workers.endTableWork("k");
    expect(ended).toEqual(["k"]);
    expect(workers.servers).toEqual([]);
    await workers.closeAll();
  });

  it("ends the calls that it has not answered", async () => {
    const { workers } = start();
    const pending = workers.endTableWork("k");
    await workers.stop();
    await pending;
  });
});
