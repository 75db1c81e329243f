import { tableFromIPC } from "apache-arrow";
import { describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import type { Json } from "../../harness/client.js";
import { waitForJobResult } from "../../harness/jobs.js";
import { setupServer } from "../../harness/setup-server.js";
import { viewClient } from "./view-client.js";

const joust = setupServer();
const { column, refreshed, rows, vectorOf, view } = viewClient(joust);

const describeView = (id: string): Promise<Json> =>
  joust.client.ok(`/v1/materialized_view/${id}/describe`, {});

const update = (id: string, predicate: string, column: string, value: string) =>
  joust.client.ok(`/v1/table/${id}/update`, { predicate, updates: [[column, value]] });

const sorted = async (id: string, name: string): Promise<unknown[]> =>
  ((await column(id, name)) as number[]).sort((a, b) => a - b);

describe("an incremental refresh", () => {
  it("computes what has changed, as the description of the view says before", async () => {
    await joust.client.createTable("goods", items(100));
    await view("cheap", "SELECT id, price * 2 AS twice FROM goods WHERE price < 40");
    await joust.client.insert("goods", items(10, { from: 100 }));
    await update("goods", "id IN (3, 105)", "price", "1.25");
    await joust.client.ok("/v1/table/goods/delete", { predicate: "id IN (4, 5)" });
    const before = await describeView("cheap");
    expect(before).toMatchObject({
      refresh_mode: "incremental",
      source_versions: [{ refreshed: 1, newest: 4 }],
    });
    expect(before).not.toHaveProperty("full_because");
    const done = await refreshed("cheap");
    expect(done).toMatchObject({ mode: "incremental", rows_written: 2, rows_removed: 3 });
    expect(done).not.toHaveProperty("reason");
    const after = await describeView("cheap");
    expect(after.source_versions).toEqual([{ refreshed: 4, newest: 4 }]);
    expect(Date.parse(after.refreshed_at)).toBeGreaterThan(Date.parse(before.refreshed_at));
    expect(await joust.client.count("cheap", { predicate: "twice = 2.5" })).toBe(2);
    const ids = await sorted("cheap", "id");
    await refreshed("cheap", { full: true });
    expect(await sorted("cheap", "id")).toEqual(ids);
  });

  it("commits nothing if nothing has changed", async () => {
    await joust.client.createTable("calm", items(10));
    await view("same", "SELECT id FROM calm");
    const first = await refreshed("same");
    expect(first).toMatchObject({ mode: "incremental", rows_written: 0, rows_removed: 0 });
    expect(await refreshed("same")).toMatchObject({ version: first.version });
    expect(await refreshed("same", { full: true })).toMatchObject({
      mode: "rebuild",
      reason: "the request asks for a full refresh",
      version: first.version + 1,
      rows_written: 10,
      rows_removed: 10,
    });
  });

  it("keeps the indexes of the view right", async () => {
    await joust.client.createTable("texts", items(300));
    await view("searched", "SELECT id, name, vector FROM texts WHERE id <> 7");
    for (const index of [
      { column: "id", index_type: "BTREE" },
      { column: "name", index_type: "FTS" },
      { column: "vector", index_type: "IVF_FLAT", distance_type: "l2" },
    ]) {
      const reply = await joust.client.ok("/v1/table/searched/create_index", index);
      await waitForJobResult(joust.client, reply.transaction_id);
    }
    const search = async (query: string) => {
      const full_text_query = { string_query: { query } };
      const found = await rows("searched", { k: 5, full_text_query });
      return found.toArray().map((row) => Number(row.id));
    };
    expect(await search("15")).toEqual([15]);
    await update("texts", "id = 15", "name", "'a zebra'");
    await update("texts", "id = 16", "id", "1016");
    await joust.client.ok("/v1/table/texts/delete", { predicate: "id = 17" });
    const gone = await vectorOf("searched", 17);
    expect(await refreshed("searched")).toMatchObject({
      mode: "incremental",
      rows_written: 2,
      rows_removed: 3,
    });
    expect(await search("15")).toEqual([]);
    expect(await search("zebra")).toEqual([15]);
    expect(await search("17")).toEqual([]);
    const count = (predicate: string) => joust.client.count("searched", { predicate });
    expect(await count("id = 16")).toBe(0);
    expect(await count("id = 1016")).toBe(1);
    expect(await count("id = 17")).toBe(0);
    const nearest = async (vector: number[]) => {
      const found = await rows("searched", { k: 1, vector: { single_vector: vector } });
      return Number(found.get(0)?.id);
    };
    expect(await nearest(gone)).not.toBe(17);
    expect(await nearest(await vectorOf("texts", 1016))).toBe(1016);
    expect(await joust.client.count("searched")).toBe(298);
  });

  it("merges the groups of new rows, and computes those of changed ones", async () => {
    await joust.client.createTable("sales", items(100));
    await view(
      "by_ten",
      "SELECT id / 10 AS ten, count(*) AS number, sum(id) AS total FROM sales GROUP BY id / 10",
    );
    const groups = async () => {
      const found = (await rows("by_ten")).toArray();
      const of = (row: Json) => [row.ten, row.number, row.total].map(Number);
      return found.map(of).sort(([a = 0], [b = 0]) => a - b);
    };
    await joust.client.insert("sales", items(5, { from: 98 }));
    expect(await refreshed("by_ten")).toMatchObject({ rows_written: 2, rows_removed: 1 });
    expect((await groups()).slice(-2)).toEqual([
      [9, 12, 945 + 98 + 99],
      [10, 3, 303],
    ]);
    await update("sales", "id = 5", "id", "25");
    expect(await refreshed("by_ten")).toMatchObject({
      mode: "incremental",
      rows_written: 2,
      rows_removed: 2,
    });
    expect((await groups()).slice(0, 3)).toEqual([
      [0, 9, 40],
      [1, 10, 145],
      [2, 11, 270],
    ]);
  });

  it("reads the values that a backfill gave to a computed column", async () => {
    await joust.client.createTable("computed", items(10));
    await joust.client.ok("/v1/table/computed/add_columns", {
      new_columns: [{ name: "double", computed: "id * 2" }],
    });
    const backfill = async () => {
      const body = { column: "double" };
      const { job_id } = (await joust.client.post("/v1/table/computed/backfill_column", body)).json;
      await waitForJobResult(joust.client, job_id);
    };
    await view("doubles", "SELECT id, double FROM computed WHERE double >= 0");
    expect(await joust.client.count("doubles")).toBe(0);
    await backfill();
    await refreshed("doubles");
    expect(await sorted("doubles", "double")).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
    await joust.client.insert("computed", items(2, { from: 10 }));
    await refreshed("doubles");
    expect(await joust.client.count("doubles")).toBe(10);
    await backfill();
    expect(await refreshed("doubles")).toMatchObject({ mode: "incremental", rows_written: 2 });
    expect((await sorted("doubles", "double")).slice(-2)).toEqual([20, 22]);
  });

  it("shows in the change feed of the view which rows changed", async () => {
    await joust.client.createTable("origin", items(10));
    await view("followed", "SELECT id, price FROM origin");
    const { version: from_version } = await joust.client.ok("/v1/table/followed/describe");
    await joust.client.insert("origin", items(1, { from: 10 }));
    await update("origin", "id = 3", "price", "99");
    await joust.client.ok("/v1/table/origin/delete", { predicate: "id = 4" });
    await refreshed("followed");
    const reply = await joust.client.post("/v1/table/followed/changes", { from_version });
    const changes = tableFromIPC(reply.bytes).toArray();
    const kinds = changes.map((row) => [row._change, row.id === null ? null : Number(row.id)]);
    expect(kinds.sort()).toEqual([
      ["delete", null],
      ["insert", 10],
      ["update", 3],
    ]);
  });

  it("also works in a clone of the view", async () => {
    await joust.client.createTable("base", items(20));
    await view("first", "SELECT id, price FROM base WHERE id <> 5");
    const { location } = await joust.client.ok("/v1/table/first/describe");
    await joust.client.ok("/v1/table/second/clone", { source_location: location });
    await update("base", "id IN (5, 6)", "id", "id + 100");
    await joust.client.insert("base", items(3, { from: 20 }));
    await refreshed("second");
    const expected = [...Array(23).keys()].filter((id) => id !== 5 && id !== 6);
    expect(await sorted("second", "id")).toEqual([...expected, 105, 106]);
    await refreshed("second", { full: true });
    expect(await sorted("second", "id")).toEqual([...expected, 105, 106]);
    await refreshed("first");
    expect(await sorted("first", "id")).toEqual([...expected, 105, 106]);
  });

  it("is turned off by SQL's option full", async () => {
    await joust.client.createTable("plain", items(5));
    await view("seen", "SELECT id FROM plain");
    const versions = async () =>
      (await joust.client.ok("/v1/table/seen/version/list")).versions.length;
    const before = await versions();
    await joust.client.ok("/v1/sql", { query: "REFRESH MATERIALIZED VIEW seen" });
    expect(await versions()).toBe(before);
    const query = "REFRESH MATERIALIZED VIEW seen WITH (full = true)";
    await joust.client.ok("/v1/sql", { query });
    expect(await versions()).toBe(before + 1);
  });
});
