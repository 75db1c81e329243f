import { describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { hasRows, jobsOf, someChecks } from "../harness/auto-refresh.js";
import { waitForIndex } from "../harness/indexes.js";
import { setupServer } from "../harness/setup-server.js";

const joust = setupServer();

/** A view of the ids of `source`. */
const create = (view: string, source: string, more: object = {}) =>
  joust.client.ok(`/v1/materialized_view/${view}/create`, {
    query: `SELECT id FROM ${source}`,
    auto_refresh: true,
    auto_refresh_interval_seconds: 1,
    ...more,
  });

describe("a view that refreshes itself", () => {
  it("follows the tables that it reads", async () => {
    const { client } = joust;
    await client.createTable("source", items(10));
    await client.createTable("other", items(10));
    await client.ok("/v1/sql", {
      query:
        "CREATE MATERIALIZED VIEW joined WITH (auto_refresh_interval_seconds = 1) AS " +
        "SELECT source.id AS id FROM source JOIN other ON source.id = other.id",
    });
    expect(await client.count("joined")).toBe(10);
    await client.insert("source", items(5, { from: 10 }));
    await client.insert("other", items(3, { from: 10 }));
    await hasRows(client, "joined", 13);
    await client.ok("/v1/table/other/delete", { predicate: "id < 4" });
    await hasRows(client, "joined", 9);
  });

  it("is refreshed only when a source has changed", async () => {
    const { client } = joust;
    await client.createTable("still", items(10));
    const body = { query: "SELECT id FROM still", auto_refresh: true };
    await client.ok("/v1/materialized_view/stable/create", {
      ...body,
      auto_refresh_interval_seconds: 1,
    });
    await hasRows(client, "stable", 10);
    await someChecks();
    const before = (await jobsOf(client, "stable", "refresh")).length;
    await client.ok("/v1/table/still/create_scalar_index", { column: "id", index_type: "BTREE" });
    await waitForIndex(client, "still", "id_idx");
    await someChecks();
    expect(await jobsOf(client, "stable", "refresh")).toHaveLength(before);
  });

  it("is filled even if it was created without data", async () => {
    const { client } = joust;
    await client.createTable("late", items(4));
    await client.ok("/v1/materialized_view/lazy/create", {
      query: "SELECT id FROM late",
      with_no_data: true,
      auto_refresh: true,
      auto_refresh_interval_seconds: 1,
    });
    await hasRows(client, "lazy", 4);
  });

  it("is not refreshed while a source does not exist", async () => {
    const { client } = joust;
    await client.createTable("leaving", items(6));
    await client.ok("/v1/sql", {
      query:
        "CREATE MATERIALIZED VIEW left_over WITH (auto_refresh_interval_seconds = 1) AS " +
        "SELECT id FROM leaving",
    });
    await client.ok("/v1/table/leaving/drop", {});
    await someChecks();
    expect(await client.count("left_over")).toBe(6);
    // Another table of the name may have rows that the creator of the view may not read.
    await client.createTable("leaving", items(8));
    await someChecks();
    expect(await client.count("left_over")).toBe(6);
    expect((await jobsOf(client, "left_over", "refresh")).map(({ state }) => state)).toEqual([
      "DONE",
    ]);
  });

  it("follows another table of the name of its source after a request to refresh it", async () => {
    const { client } = joust;
    await client.createTable("renewed", items(4));
    await create("renewing", "renewed");
    await hasRows(client, "renewing", 4);
    await client.ok("/v1/table/renewed/drop", {});
    await client.createTable("renewed", items(3));
    await client.insert("renewed", items(1, { from: 3 }));
    await client.ok("/v1/materialized_view/renewing/refresh", {});
    await hasRows(client, "renewing", 4);
    await client.insert("renewed", items(2, { from: 4 }));
    await hasRows(client, "renewing", 6);
  });

  it("sees a column that is replaced without a change of rows", async () => {
    const { client } = joust;
    await client.createTable("swapped", items(5));
    await create("swaps", "swapped", { query: "SELECT price FROM swapped" });
    await hasRows(client, "swaps", 5);
    const rename = (path: string, name: string) =>
      client.ok("/v1/table/swapped/alter_columns", { alterations: [{ path, rename: name }] });
    await client.ok("/v1/table/swapped/add_columns", {
      new_columns: [{ name: "other", expression: "cast(-1.0 as double)" }],
    });
    await rename("price", "former");
    await rename("other", "price");
    await hasRows(client, "swaps", 5, "price = -1.0");
  });

  it("does not pass this on to a clone before a request refreshes the clone", async () => {
    const { client } = joust;
    await client.createTable("cloned_source", items(3));
    await create("original", "cloned_source");
    await hasRows(client, "original", 3);
    const { location } = await client.ok("/v1/table/original/describe");
    await client.ok("/v1/table/copy/clone", { source_location: location });
    await client.insert("cloned_source", items(2, { from: 3 }));
    await hasRows(client, "original", 5);
    await someChecks();
    expect(await client.count("copy")).toBe(3);
    await client.ok("/v1/materialized_view/copy/refresh", {});
    await hasRows(client, "copy", 5);
    await client.insert("cloned_source", items(1, { from: 5 }));
    await hasRows(client, "copy", 6);
  });

  it("follows a view that is replaced only after a request to refresh it", async () => {
    const { client } = joust;
    await client.createTable("base", items(6));
    const lower = (sql: string) => client.ok("/v1/sql", { query: sql });
    await lower("CREATE MATERIALIZED VIEW inner_view AS SELECT id FROM base");
    await create("outer_view", "inner_view");
    await hasRows(client, "outer_view", 6);
    await lower(
      "CREATE OR REPLACE MATERIALIZED VIEW inner_view AS SELECT id FROM base WHERE id < 2",
    );
    await someChecks();
    expect(await client.count("outer_view")).toBe(6);
    await client.ok("/v1/materialized_view/outer_view/refresh", {});
    await hasRows(client, "outer_view", 2);
  });
});
