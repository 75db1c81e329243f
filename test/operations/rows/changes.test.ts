import { type Table, tableFromIPC } from "apache-arrow";
import { describe, expect, it } from "vitest";
import { items, stream, type } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { waitForJobResult } from "../../harness/jobs.js";
import { setupServer } from "../../harness/setup-server.js";
import { waitFor } from "../../harness/wait-for.js";

const joust = setupServer();

interface Feed {
  readonly cursor: string;
  readonly version: number;
  readonly table: Table;
}

const read = (id: string, body: object) => joust.client.post(`/v1/table/${id}/changes`, body);

async function changes(id: string, body: object): Promise<Feed> {
  const reply = await read(id, body);
  if (reply.status !== 200) throw new Error(`${reply.status}: ${reply.text}`);
  return {
    cursor: reply.headers.get("x-joust-cursor") ?? "",
    version: Number(reply.headers.get("x-lancedb-version")),
    table: tableFromIPC(reply.bytes),
  };
}

/** `insert 3`, `delete null`: the kind and the id of each change, sorted. */
const kinds = ({ table }: Feed): string[] =>
  [...table].map((row) => `${row._change} ${row.id}`).sort();

describe("the change feed", () => {
  it("reads all rows as inserted ones after version 0", async () => {
    await joust.client.createTable("all", items(3));
    const feed = await changes("all", { from_version: 0 });
    expect(feed.version).toBe(1);
    expect(kinds(feed)).toEqual(["insert 0", "insert 1", "insert 2"]);
    expect(feed.table.schema.fields.map(({ name }) => name)).toEqual([
      "_change",
      "_rowid",
      "_row_last_updated_at_version",
      "id",
      "name",
      "category",
      "price",
      "vector",
    ]);
  });

  it("returns the rows that were inserted, updated or deleted after the cursor", async () => {
    await joust.client.createTable("next", items(5));
    const { cursor } = await changes("next", { from_version: 0 });
    await joust.client.insert("next", items(2, { from: 5 }));
    await joust.client.ok("/v1/table/next/update", {
      predicate: "id = 1",
      updates: [["price", "99"]],
    });
    await joust.client.ok("/v1/table/next/delete", { predicate: "id IN (2, 6)" });
    const feed = await changes("next", { cursor });
    expect(kinds(feed)).toEqual(["delete null", "insert 5", "update 1"]);
    const updated = [...feed.table].find((row) => row._change === "update");
    expect(updated).toMatchObject({ price: 99, name: "item 1" });
    expect(await changes("next", { cursor: feed.cursor }).then(kinds)).toEqual([]);
  });

  it("reads up to an older version", async () => {
    await joust.client.createTable("until", items(1));
    await joust.client.insert("until", items(1, { from: 1 }));
    await joust.client.insert("until", items(1, { from: 2 }));
    const feed = await changes("until", { from_version: 1, to_version: 2 });
    expect([feed.version, kinds(feed)]).toEqual([2, ["insert 1"]]);
  });

  it("returns the named columns", async () => {
    await joust.client.createTable("some", items(1));
    const { table } = await changes("some", { from_version: 0, columns: ["price"] });
    expect(table.schema.fields.map(({ name }) => name).slice(3)).toEqual(["price"]);
  });

  it("reports no change for compaction, indexes and metadata", async () => {
    await joust.client.createTable("quiet", items(300));
    await joust.client.insert("quiet", items(300, { from: 300 }));
    const { cursor } = await changes("quiet", { from_version: 0 });
    const { client } = joust;
    await waitForJobResult(client, (await client.ok("/v1/table/quiet/compact", {})).job_id);
    const index = { column: "id", index_type: "BTREE" };
    await client.ok("/v1/table/quiet/create_scalar_index", index);
    await joust.client.ok("/v1/table/quiet/update_field_metadata", {
      updates: [{ path: "id", metadata: { a: "1" } }],
    });
    const built = async () => (await client.ok("/v1/table/quiet/index/list")).indexes.length === 1;
    await waitFor("the index is built", built);
    const feed = await changes("quiet", { cursor });
    expect(kinds(feed)).toEqual([]);
    expect(feed.version).toBeGreaterThan(2);
  });

  it("reports a merge-insert", async () => {
    await joust.client.createTable("merged", items(3));
    await joust.client.ok("/v1/table/merged/merge_insert", items(3, { from: 2, seed: 7 }), {
      on: "id",
      when_matched_update_all: "true",
      when_not_matched_insert_all: "true",
    });
    const feed = await changes("merged", { from_version: 1 });
    expect(kinds(feed)).toEqual(["insert 3", "insert 4", "update 2"]);
  });

  it("waits for a new version", async () => {
    await joust.client.createTable("waiting", items(1));
    const { cursor } = await changes("waiting", { from_version: 0 });
    const waiting = changes("waiting", { cursor, wait_ms: 30_000 });
    await joust.client.insert("waiting", items(1, { from: 1 }));
    expect(await waiting.then(kinds)).toEqual(["insert 1"]);
    const none = await changes("waiting", { from_version: 2, wait_ms: 50 });
    expect([none.version, kinds(none)]).toEqual([2, []]);
  });

  it("reads a branch", async () => {
    await joust.client.createTable("branched", items(2));
    await joust.client.ok("/v1/table/branched/branches/create", { name: "dev" });
    const { cursor } = await changes("branched", { from_version: 0, branch: "dev" });
    await joust.client.insert("branched", items(1, { from: 2 }), { branch: "dev" });
    expect(await changes("branched", { cursor, branch: "dev" }).then(kinds)).toEqual(["insert 2"]);
    expect(await changes("branched", { from_version: 1 }).then(kinds)).toEqual([]);
  });

  it("refuses a cursor of another branch, or of a former branch of that name", async () => {
    const branch = "dev";
    await joust.client.createTable("rebranched", items(2));
    const of = (name: string) => changes("rebranched", { from_version: 0, branch: name });
    await joust.client.ok("/v1/table/rebranched/branches/create", { name: branch });
    await joust.client.insert("rebranched", items(1, { from: 2 }), { branch });
    const { cursor } = await of(branch);
    const { cursor: ofMain } = await of("main");
    for (const body of [{ cursor }, { cursor: ofMain, branch }]) {
      expectFailure(await read("rebranched", body), 409, 19, /another branch/);
    }
    await joust.client.ok("/v1/table/rebranched/branches/delete", { name: branch });
    expectFailure(await read("rebranched", { cursor, branch }), 404, 22);
    await joust.client.ok("/v1/table/rebranched/branches/create", { name: branch });
    await joust.client.insert("rebranched", items(3, { from: 7 }), { branch });
    expectFailure(await read("rebranched", { cursor, branch }), 409, 19, /was dropped/);
  });

  it.each([
    ["add_columns", { new_columns: [{ name: "extra", expression: "id" }] }, "Merge"],
    ["restore", { version: 1 }, "Restore"],
  ])("refuses versions that include %s", async (route, body, operation) => {
    const id = `refused_${route}`;
    await joust.client.createTable(id, items(2));
    await joust.client.insert(id, items(1, { from: 2 }));
    await joust.client.ok(`/v1/table/${id}/${route}`, body);
    const reply = await read(id, { from_version: 1 });
    expectFailure(reply, 409, 19);
    expect(reply.json.error).toContain(`kind ${operation}`);
    expect(reply.json.error).toContain("`from_version` 0");
    expect(kinds(await changes(id, { from_version: 3 }))).toEqual([]);
  });

  it("refuses versions before an overwrite", async () => {
    await joust.client.createTable("again", items(2));
    await joust.client.createTable("again", items(1), { mode: "overwrite" });
    expectFailure(await read("again", { from_version: 1 }), 409, 19);
  });

  it("refuses the cursor of a dropped table of that name", async () => {
    await joust.client.createTable("dropped", items(2));
    const { cursor } = await changes("dropped", { from_version: 0 });
    await joust.client.ok("/v1/table/dropped/drop");
    await joust.client.createTable("dropped", items(2));
    const reply = await read("dropped", { cursor });
    expectFailure(reply, 409, 19);
    expect(reply.json.error).toContain("dropped");
  });

  it("says that a version is cleaned up", async () => {
    await joust.client.createTable("cleaned", items(2));
    await joust.client.insert("cleaned", items(2, { from: 2 }));
    await joust.client.ok("/v1/table/cleaned/version/delete", {
      ranges: [{ start_version: 1, end_version: 2 }],
    });
    const reply = await read("cleaned", { from_version: 1 });
    expectFailure(reply, 404, 11);
    expect(reply.json.error).toContain("does not exist any more");
  });

  it.each([
    [{}, 13, "either cursor or from_version"],
    [{ from_version: 1, cursor: "x" }, 13, "either cursor or from_version"],
    [{ cursor: "x" }, 13, "cursor is not valid"],
    [{ from_version: 9 }, 13, "`from_version` is 9"],
    [{ from_version: 0, columns: ["none"] }, 12, "none"],
    [{ from_version: 0, wait_ms: 60_001 }, 13, "wait_ms"],
    [{ from_version: 0, to_version: 9 }, 11, "9"],
  ])("refuses %j", async (body, code, message) => {
    await joust.client.createTable("bad", items(1), { mode: "exist_ok" });
    const reply = await read("bad", body);
    expect([reply.json.code, reply.json.error]).toEqual([code, expect.stringContaining(message)]);
  });

  it("refuses a table with a column of the feed's name", async () => {
    await joust.client.createTable(
      "named",
      stream({ id: [type.i64, [1n]], _change: [type.i64, [2n]] }),
    );
    expectFailure(await read("named", { from_version: 0 }), 400, 13);
    const { table } = await changes("named", { from_version: 0, columns: ["id"] });
    expect(table.numRows).toBe(1);
  });
});
