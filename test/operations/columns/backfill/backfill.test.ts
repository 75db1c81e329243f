import { readdirSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { items } from "../../../harness/arrow.js";
import { slowExpression, waitForJob, waitForJobResult } from "../../../harness/jobs.js";
import { setupServer } from "../../../harness/setup-server.js";
import { waitFor } from "../../../harness/wait-for.js";
import { backfillClient } from "./backfill-client.js";

const joust = setupServer();

const { compute, start, fill, values } = backfillClient(joust);

const version = async (id: string): Promise<number> =>
  (await joust.client.ok(`/v1/table/${id}/describe`)).version;

describe("a backfill", () => {
  it("sets every row to the value of the expression in one version", async () => {
    await joust.client.createTable("all", items(1_000));
    for (const from of [1_000, 2_000]) await joust.client.insert("all", items(1_000, { from }));
    await compute("all", "total", "price * 2 + id");
    const before = await version("all");
    const answer = await start("all", { column: "total" });
    expect(answer.status).toBe(202);
    expect(Object.keys(answer.json)).toEqual(["job_id"]);
    expect(await waitForJob(joust.client, answer.json.job_id)).toMatchObject({
      job_type: "backfill",
      job_state: "DONE",
      spec: { column: "total" },
      result: {
        rows_assigned: 3_000,
        rows_failed: 0,
        rows_remaining: 0,
        source_version: before,
        published_version: before + 1,
      },
    });
    const filled = await values("all", "total");
    expect(filled.size).toBe(3_000);
    for (const [id, total] of filled) expect(total).toBe(id * 2);
  });

  it("updates rows whose inputs have changed when it runs again", async () => {
    await joust.client.createTable("again", items(100));
    await compute("again", "twice", "id * 2");
    await fill("again", "twice");
    await joust.client.ok("/v1/table/again/update", {
      predicate: "id < 10",
      updates: [["id", "id + 1000"]],
    });
    await joust.client.insert("again", items(20, { from: 100 }));
    expect(await joust.client.count("again", { predicate: "twice is null" })).toBe(20);
    expect(await fill("again", "twice")).toMatchObject({ rows_assigned: 30, rows_remaining: 0 });
    for (const [id, twice] of await values("again", "twice")) expect(Number(twice)).toBe(id * 2);
  });

  it("writes only rows that need it, and creates no version if there are none", async () => {
    await joust.client.createTable("need", items(10));
    await joust.client.insert("need", items(10, { from: 10 }));
    await compute("need", "c", "nullif(id, 3)");
    // The expression is null for this row, so it is already correct.
    expect(await fill("need", "c")).toMatchObject({ rows_assigned: 19, rows_remaining: 0 });
    const before = await version("need");
    const files = readdirSync(join(joust.root, "need.lance", "data")).length;
    const again = await fill("need", "c");
    expect(again).toMatchObject({ rows_assigned: 0, rows_failed: 0, rows_remaining: 0 });
    expect(again).not.toHaveProperty("published_version");
    expect(await version("need")).toBe(before);
    const data = join(joust.root, "need.lance", "data");
    await waitFor("files are removed", () => readdirSync(data).length === files);
    await joust.client.insert("need", items(1, { from: 20 }));
    expect(await fill("need", "c")).toMatchObject({ rows_assigned: 1 });
    for (const [id, c] of await values("need", "c")) {
      expect(c === null ? null : Number(c)).toBe(id === 3 ? null : id);
    }
  });

  it("writes only rows that match the condition", async () => {
    await joust.client.createTable("some", items(100));
    await compute("some", "c", "id");
    expect(await fill("some", "c", { where: "id < 30" })).toMatchObject({ rows_assigned: 30 });
    expect(await joust.client.count("some", { predicate: "c is null" })).toBe(70);
    // Only rows without a value.
    expect(await fill("some", "c", { where: "c IS NULL AND id < 60" })).toMatchObject({
      rows_assigned: 30,
    });
    for (const [id, c] of await values("some", "c")) {
      expect(c === null ? null : Number(c)).toBe(id < 60 ? id : null);
    }
  });

  it("creates no version if no row matches", async () => {
    await joust.client.createTable("none", items(10));
    await compute("none", "c", "id");
    const before = await version("none");
    const result = await fill("none", "c", { where: "id > 1000" });
    expect(result).toMatchObject({ rows_assigned: 0, source_version: before });
    expect(result).not.toHaveProperty("published_version");
    expect(await version("none")).toBe(before);
    const files = readdirSync(join(joust.root, "none.lance", "data"));
    expect(files).toHaveLength(1);
  });

  it("does not evaluate deleted rows", async () => {
    await joust.client.createTable("deleted", items(50));
    await compute("deleted", "ratio", "100 / id");
    await joust.client.ok("/v1/table/deleted/delete", { predicate: "id = 0 or id > 40" });
    expect(await fill("deleted", "ratio")).toMatchObject({ rows_assigned: 40, rows_failed: 0 });
    for (const [id, ratio] of await values("deleted", "ratio")) {
      expect(Number(ratio)).toBe(Math.trunc(100 / id));
    }
  });

  it("can read an older version and skips rows that have changed since", async () => {
    await joust.client.createTable("pinned", items(10));
    await compute("pinned", "c", "id");
    const pinned = await version("pinned");
    await joust.client.insert("pinned", items(5, { from: 10 }));
    expect(await fill("pinned", "c", { read_version: pinned })).toMatchObject({
      rows_assigned: 10,
      rows_remaining: 5,
      source_version: pinned,
    });
    expect(await joust.client.count("pinned", { predicate: "c is null" })).toBe(5);
  });

  it("stops after the requested number of fragments", async () => {
    await joust.client.createTable("few", items(10));
    for (const from of [10, 20]) await joust.client.insert("few", items(10, { from }));
    await compute("few", "c", "id");
    expect(await fill("few", "c", { num_frags: 2, concurrency: 2 })).toMatchObject({
      rows_assigned: 20,
      rows_remaining: 10,
    });
  });

  it("writes to a branch and leaves main unchanged", async () => {
    await joust.client.createTable("tree", items(10));
    await compute("tree", "c", "id");
    await joust.client.ok("/v1/table/tree/branches/create", { name: "dev" });
    expect(await fill("tree", "c", { branch: "dev" })).toMatchObject({ rows_assigned: 10 });
    expect(await joust.client.count("tree", { predicate: "c is null" })).toBe(10);
    expect(await joust.client.count("tree", { predicate: "c is null", branch: "dev" })).toBe(0);
  });

  it("works after compaction has merged the column into a file with other columns", async () => {
    await joust.client.createTable("packed", items(10));
    await joust.client.insert("packed", items(10, { from: 10 }));
    await compute("packed", "c", "id");
    await fill("packed", "c");
    const { job_id } = await joust.client.ok("/v1/table/packed/compact", {});
    await waitForJobResult(joust.client, job_id);
    await joust.client.ok("/v1/table/packed/update", { updates: [["id", "id + 100"]] });
    expect(await fill("packed", "c")).toMatchObject({ rows_assigned: 20 });
    for (const [id, c] of await values("packed", "c")) expect(Number(c)).toBe(id);
    expect(await joust.client.count("packed", { predicate: "name = 'item 3' and c = 103" })).toBe(
      1,
    );
  });

  it("accepts options of other executors and null for optional members", async () => {
    await joust.client.createTable("tuned", items(10));
    await compute("tuned", "c", "id");
    const result = await fill("tuned", "c", {
      where: null,
      concurrency: null,
      read_version: null,
      num_frags: null,
      intra_applier_concurrency: 4,
      min_checkpoint_size: 1,
      max_checkpoint_size: 2,
      batch_checkpoint_flush_interval_seconds: 1.5,
      task_size: 3,
      checkpoint_size: 4,
      commit_granularity: 5,
      cluster: "none",
      manifest: "none",
      something_newer: true,
    });
    expect(result).toMatchObject({ rows_assigned: 10 });
  });

  it("is one job if it is requested twice while it waits", async () => {
    await joust.client.createTable("twice", items(20_000));
    await compute("twice", "c", "id");
    await compute("twice", "d", slowExpression("name"));
    const other = await start("twice", { column: "d" });
    const [first, second] = await Promise.all([
      start("twice", { column: "c" }),
      start("twice", { column: "C", where: null }),
    ]);
    expect(first?.json.job_id).toBe(second?.json.job_id);
    expect(other.json.job_id).not.toBe(first?.json.job_id);
    await waitForJobResult(joust.client, first?.json.job_id);
    await waitForJobResult(joust.client, other.json.job_id);
    const { status } = await joust.client.ok(`/v1/transaction/${first?.json.job_id}/describe`);
    expect(status).toBe("Succeeded");
  });

  it("keeps concurrent writes", async () => {
    await joust.client.createTable("busy", items(2_000));
    await compute("busy", "c", "id");
    const job = fill("busy", "c");
    for (let round = 0; round < 10; round++) {
      await joust.client.insert("busy", items(10, { from: 10_000 + round * 10 }));
      await joust.client.ok("/v1/table/busy/update", {
        predicate: `id = ${round}`,
        updates: [["name", "'changed'"]],
      });
      await joust.client.ok("/v1/table/busy/delete", { predicate: `id = ${1_000 + round}` });
    }
    await job;
    expect(await joust.client.count("busy")).toBe(2_000 + 100 - 10);
    expect(await joust.client.count("busy", { predicate: "name = 'changed'" })).toBe(10);
    await fill("busy", "c");
    for (const [id, c] of await values("busy", "c")) expect(Number(c)).toBe(id);
  });

  it("has the same result as an update after any sequence of changes", async () => {
    let round = 0;
    const change = fc.oneof(
      fc.record({ do: fc.constant("insert" as const), rows: fc.integer({ min: 1, max: 20 }) }),
      fc.record({ do: fc.constant("delete" as const), modulus: fc.integer({ min: 2, max: 7 }) }),
      fc.record({ do: fc.constant("update" as const), modulus: fc.integer({ min: 2, max: 7 }) }),
      fc.record({ do: fc.constant("fill" as const), modulus: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ do: fc.constant("compact" as const) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 8 }), async (changes) => {
        const id = `model${round++}`;
        await joust.client.createTable(id, items(20));
        await compute(id, "c", "price + 1");
        const model = new Map(
          Array.from({ length: 20 }, (_, row) => [
            row,
            { price: row / 2, c: null as number | null },
          ]),
        );
        let next = 20;
        for (const step of changes) {
          switch (step.do) {
            case "insert":
              await joust.client.insert(id, items(step.rows, { from: next }));
              for (let row = next; row < next + step.rows; row++) {
                model.set(row, { price: row / 2, c: null });
              }
              next += step.rows;
              break;
            case "delete":
              await joust.client.ok(`/v1/table/${id}/delete`, {
                predicate: `id % ${step.modulus} = 1`,
              });
              for (const row of [...model.keys()]) if (row % step.modulus === 1) model.delete(row);
              break;
            case "update":
              await joust.client.ok(`/v1/table/${id}/update`, {
                predicate: `id % ${step.modulus} = 0`,
                updates: [["price", "price + 10"]],
              });
              for (const [row, value] of model) if (row % step.modulus === 0) value.price += 10;
              break;
            case "fill":
              await fill(id, "c", { where: `id % ${step.modulus} = 0` });
              for (const [row, value] of model) {
                if (row % step.modulus === 0) value.c = value.price + 1;
              }
              break;
            case "compact": {
              const { job_id } = await joust.client.ok(`/v1/table/${id}/compact`, {});
              await waitForJobResult(joust.client, job_id);
            }
          }
        }
        const expected = new Map([...model].map(([row, value]) => [row, value.c]));
        expect(await values(id, "c")).toEqual(expected);
      }),
      { numRuns: 12, endOnFailure: true },
    );
  }, 120_000);
});
