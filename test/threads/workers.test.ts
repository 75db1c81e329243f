import { EventEmitter } from "node:events";
import { afterAll, describe, expect, it, vi } from "vitest";
import type { WorkersOptions } from "../../src/server/workers.js";
import { quiet } from "../catalog/catalog-databases.js";

type Posted = { number: number; method: string };

/** A thread that answers all calls except `endTableWork`. */
class FakeWorker extends EventEmitter {
  hasExited = false;

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

// Test files share their modules: the mock must reach a module that another file has loaded, and end with this file.
vi.doMock("node:worker_threads", async (original) => ({
  ...(await original<object>()),
  Worker: FakeWorker,
}));
vi.resetModules();
const { Workers } = await import("../../src/server/workers.js");

afterAll(() => {
  vi.doUnmock("node:worker_threads");
  vi.resetModules();
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
