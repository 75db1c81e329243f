import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeDataset } from "../../bench/data/dataset.mjs";
import { generated } from "../../bench/data/generated.mjs";
import { countingServer } from "../../bench/micro/counting-server.mjs";
import { engineCalls } from "../../bench/micro/engine-calls.mjs";
import { heap } from "../../bench/micro/heap.mjs";

const folder = mkdtempSync(join(tmpdir(), "joust-micro-test-"));
let dataset: Awaited<ReturnType<typeof makeDataset>>;
let server: Awaited<ReturnType<typeof countingServer>>;

beforeAll(async () => {
  dataset = await makeDataset(generated({ rows: 4_000, dimensions: 64, seed: 1 }), folder);
  server = await countingServer(dataset.file);
}, 60_000);

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("each request makes one call into the engine", async () => {
  const lines = await engineCalls(server, dataset, 30);
  const calls = Object.fromEntries(lines.map((line) => [line.title, line.calls]));
  const once = { "Table.query": 1 };
  expect(calls).toMatchObject({
    "vector, 10 rows": once,
    "10 vectors": once,
    "10 ids": once,
    "filter, limit 10": once,
    // A large response stays in memory until the socket has taken it; slow clients are limited by that.
    "all rows with vectors": { "Table.query": 1, "QueryRest.cancel": 1, "QueryRest.held": 1 },
  });
  for (const { title, calls, bytes } of lines) {
    const own = Object.keys(calls).filter((name) => /^(new )?(Query|Task)|cancelQuery/.test(name));
    const rest = ["QueryRest.cancel", "QueryRest.held"];
    expect(own.sort(), title).toEqual(bytes > 65_536 ? rest : []);
  }
});

test("a response is held in memory once and outside of the JavaScript heap", async () => {
  const [table] = readdirSync(server.root).filter((name) => name.endsWith(".lance"));
  const held = await heap(join(server.root, `${table}`), 20);
  expect(held.bytes).toBeGreaterThan(20 * 1_000_000);
  expect(held.heap).toBeLessThan(held.bytes / 200);
  expect(held.external).toBeLessThan(held.bytes * 1.01);
});
