import { execFile } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Engine, type Table, Upload } from "../../src/engine/index.js";
import { ErrorCode } from "../../src/foundation/errors.js";
import { items } from "../harness/arrow.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";

const ROWS = 300;
const ENGINE = new URL("../../dist/engine/index.js", import.meta.url).href;
const execute = promisify(execFile);

describe("promises of the engine", () => {
  const engine = new Engine();
  const place = tempDir("promises");
  const location = join(place, "t.lance");
  let table: Table;

  beforeAll(async () => {
    table = engine.table(location);
    const upload = new Upload(engine);
    upload.push(items(ROWS));
    upload.finish();
    await table.create(upload, false);
  });
  afterAll(() => removeDir(place));

  it("settle with the result of their own call", async () => {
    const asked = Array.from({ length: ROWS }, (_, i) => {
      const predicate = i % 7 === 3 ? `nothing < ${i}` : `id < ${i}`;
      return table.countRows({ predicate });
    });
    const settled = await Promise.allSettled(asked);
    for (const [i, outcome] of settled.entries()) {
      if (i % 7 === 3) {
        expect(outcome).toMatchObject({
          status: "rejected",
          reason: { name: "EngineError", code: ErrorCode.TableColumnNotFound },
        });
      } else {
        expect(outcome).toEqual({ status: "fulfilled", value: i });
      }
    }
  });

  it("allow further calls from their callbacks", async () => {
    let after = 0;
    const more = async (left: number): Promise<void> => {
      const one = await table.countRows({ predicate: "id < 1" });
      after += one;
      if (left > 0) await Promise.all([more(left - 1), more(left - 1)]);
    };
    await more(6);
    expect(after).toBe(2 ** 7 - 1);
  });

  it("keep the process alive until they settle and no longer", async () => {
    const script = `
      const { Engine } = await import(${JSON.stringify(ENGINE)});
      const table = new Engine({}).table(${JSON.stringify(location)});
      for (const least of [1, 2, 3])
        table.countRows({ predicate: "id >= " + least }).then((rows) => console.log(rows));
    `;
    const args = ["--input-type=module", "--eval", script];
    const { stdout } = await execute(process.execPath, args, { timeout: 20_000 });
    expect(stdout.trim().split("\n").map(Number).sort()).toEqual([ROWS - 3, ROWS - 2, ROWS - 1]);
  });

  it("of an upload wait until the engine accepts more data", async () => {
    const rows = 400_000;
    const upload = new Upload(engine);
    const body = items(rows);
    let writing: Promise<unknown> | undefined;
    for (let at = 0; at < body.length; at += 1 << 20) {
      if (upload.push(body.subarray(at, at + (1 << 20)))) continue;
      // The engine reads nothing before this, so the upload was paused.
      writing ??= table.create(upload, true);
      await upload.drained();
    }
    upload.finish();
    expect(writing).toBeDefined();
    await writing;
    expect(await table.countRows()).toBe(rows);
  });

  it("of a chunk that is cancelled while it is made leave no memory reserved", async () => {
    const columns = {
      wide: "repeat(name, 60)",
      slow: `levenshtein(repeat(name, 60), '${"x".repeat(250)}')`,
    };
    const body = Buffer.from(JSON.stringify({ k: 100_000, vector: [], columns }));
    const { rest } = await table.query(body, { id: ["t"], format: "stream" });
    if (rest === undefined) throw new Error("the result has only one chunk");
    expect(engine.memory().queries).toBeGreaterThan(0);
    let next = rest.next();
    // A chunk that is ready already does not wait.
    while ((await Promise.race([next, sleep(5, "waits")])) !== "waits") next = rest.next();
    rest.cancel();
    await expect(next).rejects.toThrow("cancelled");
    await waitFor("the memory is released", () => engine.memory().queries === 0);
  });

  it("of a discarded upload resolve", async () => {
    const upload = new Upload(engine);
    expect(upload.push(items(400_000))).toBe(false);
    const drained = upload.drained();
    const first = await Promise.race([drained.then(() => "drained"), sleep(50, "waits")]);
    expect(first).toBe("waits");
    upload.discard();
    await drained;
    expect(upload.push(items(3))).toBe(true);
  });

  it("of an ended worker thread are dropped with it", async () => {
    const script = `
      const { workerData } = require("node:worker_threads");
      import(workerData.engine).then(({ Engine }) => {
        const table = new Engine({}).table(workerData.location);
        for (let i = 0; i < 200; i++) table.countRows({ predicate: "id % 7 = " + (i % 7) });
        setTimeout(() => process.exit(3), 5);
      });
    `;
    const workerData = { engine: ENGINE, location };
    for (let i = 0; i < 5; i++) {
      const [code] = await once(new Worker(script, { eval: true, workerData }), "exit");
      expect(code).toBe(3);
    }
    expect(await table.countRows()).toBeGreaterThan(0);
  });
});
