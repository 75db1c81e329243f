import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import type { Json } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { waitForIndex } from "../../harness/indexes.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const send = (id: string, call: string, body: object) =>
  joust.client.post(`/v1/table/${id}/branches/${call}/`, body);
const diff = async (id: string, from_branch = "dev"): Promise<Json> => {
  const reply = await send(id, "diff", { from_branch });
  expect(reply.status, reply.text).toBe(200);
  return reply.json;
};
const codes = (difference: Json) => difference.errors.map((error: Json) => error.code);

async function forked(id: string): Promise<void> {
  await joust.client.createTable(id, items(20));
  await joust.client.ok(`/v1/table/${id}/branches/create`, { name: "dev" });
}

describe("comparing a branch with main", () => {
  beforeAll(() => forked("same"));

  it("reports no difference for a new branch", async () => {
    expect(await diff("same")).toEqual({
      fromBranch: "dev",
      parentVersion: 1,
      mainVersion: 1,
      branchVersion: 1,
      baseMoved: false,
      rowCountMain: 20,
      rowCountBranch: 20,
      rowSummary: {
        unchanged: 20,
        newOnBase: 0,
        newOnBranch: 0,
        staleRecompute: 0,
        inputsChanged: 0,
        deltaAvailable: true,
      },
      addedColumns: [],
      removedColumns: [],
      changedColumns: [],
      addedIndexes: [],
      removedIndexes: [],
      errors: [{ code: "noColumnChanges", message: expect.any(String) }],
    });
  });

  it("reports new, deleted and updated rows of both sides", async () => {
    await forked("rows");
    const { client } = joust;
    await client.insert("rows", items(3, { from: 20 }));
    await client.insert("rows", items(5, { from: 30 }), { branch: "dev" });
    await client.ok("/v1/table/rows/delete", { predicate: "id < 2", branch: "dev" });
    await client.ok("/v1/table/rows/delete", { predicate: "id = 2" });
    await client.ok("/v1/table/rows/update", { updates: [["price", "1"]], predicate: "id = 5" });
    const result = await diff("rows");
    expect(result).toMatchObject({
      baseMoved: true,
      rowCountMain: 22,
      rowCountBranch: 23,
      // Of the 20 common rows, 3 are deleted on one side and one is updated.
      rowSummary: { unchanged: 16, newOnBase: 3, newOnBranch: 5, inputsChanged: 1 },
    });
    expect(codes(result)).toEqual([
      "baseMoved",
      "rowCountMismatch",
      "rowsChanged",
      "noColumnChanges",
    ]);
  });

  it("reports differences of columns and indexes", async () => {
    await forked("columns");
    const { client } = joust;
    const branch = "dev";
    const change = (call: string, body: object) =>
      client.ok(`/v1/table/columns/${call}`, { branch, ...body });
    await change("add_columns", { new_columns: [{ name: "twice", expression: "price * 2" }] });
    await change("drop_columns", { columns: ["category"] });
    await change("alter_columns", {
      alterations: [{ path: "price", data_type: { type: "float" } }],
    });
    await client.ok("/v1/table/columns/create_index", { column: "id", index_type: "BTREE" });
    await waitForIndex(client, "columns", "id_idx");
    const result = await diff("columns");
    const double = { dataType: "double", nullable: true };
    expect(result.addedColumns).toEqual([{ name: "twice", ...double }]);
    expect(result.removedColumns).toEqual([
      { name: "category", dataType: "string", nullable: true },
    ]);
    expect(result.changedColumns).toEqual([
      {
        name: "price",
        main: { name: "price", ...double },
        branch: { name: "price", dataType: "float", nullable: true },
      },
    ]);
    expect(result.addedIndexes).toEqual([]);
    expect(result.removedIndexes).toEqual([
      { indexName: "id_idx", columns: ["id"], indexType: "BTREE", status: "Ready" },
    ]);
    expect(codes(result)).toContain("columnRemoved");
    expect(codes(result)).toContain("columnChanged");
  });

  it("works for a branch of another branch", async () => {
    await forked("nested");
    const twig = { name: "twig", from_branch: "dev" };
    await joust.client.ok("/v1/table/nested/branches/create", twig);
    const result = await diff("nested", "twig");
    expect(result.rowSummary.deltaAvailable).toBe(false);
    expect(codes(result)).toContain("parentNotMain");
  });

  it("fails for a missing branch", async () => {
    expectFailure(await send("same", "diff", { from_branch: "none" }), 404, 22, /none/);
    expectFailure(await send("same", "diff", {}), 400, 13, /from_branch/);
    expectFailure(await send("missing", "diff", { from_branch: "dev" }), 404, 4);
  });
});

describe("cherry-picking a branch's columns into main", () => {
  it("is rejected with reasons if it is not possible", async () => {
    await forked("moved");
    await joust.client.insert("moved", items(1, { from: 20 }));
    for (const dry_run of [true, false]) {
      const reply = await send("moved", "cherry_pick", { from_branch: "dev", dry_run });
      expect(reply.status).toBe(200);
      expect(reply.json).toMatchObject({ status: "failed", preview: { promotedColumns: [] } });
      expect(codes(reply.json.diff)).toContain("baseMoved");
    }
  });

  it("is previewed by dry_run and then creates one version", async () => {
    await forked("ready");
    const { client } = joust;
    // Rows deleted on both sides leave gaps in the row ids that the copy must keep.
    await client.createTable("ready", items(50), { mode: "overwrite" });
    await client.insert("ready", items(30, { from: 50 }));
    await client.ok("/v1/table/ready/delete", { predicate: "id % 7 = 3" });
    await client.ok("/v1/table/ready/branches/create", { name: "work" });
    const before = (await client.ok("/v1/table/ready/describe")).version;
    const columns = [
      { name: "twice", expression: "price * 2" },
      { name: "upper", expression: "upper(name)" },
    ];
    await client.ok("/v1/table/ready/add_columns", { new_columns: columns, branch: "work" });

    const pick = (dry_run: boolean) =>
      send("ready", "cherry_pick", { from_branch: "work", dry_run });
    const preview = { promotedColumns: ["twice", "upper"] };
    expect((await pick(true)).json).toMatchObject({
      status: "ready",
      preview,
      diff: { errors: [] },
    });
    expect((await client.ok("/v1/table/ready/describe")).version).toBe(before);
    const done = (await pick(false)).json;
    expect(done).toMatchObject({ status: "cherryPicked", preview, mainVersionAfter: before + 1 });
    expect((await client.ok("/v1/table/ready/describe")).version).toBe(before + 1);
    const rows = [...(await client.query("ready", { k: 100, vector: {} }))];
    expect(rows.length).toBe(80 - 11);
    for (const row of rows) {
      expect([row.twice, row.upper]).toEqual([row.price * 2, `ITEM ${row.id}`]);
    }
    // Nothing is left to cherry-pick.
    expect((await pick(false)).json.status).toBe("failed");
    expectFailure(await send("ready", "cherry_pick", { from_branch: "none" }), 404, 22);
  });
});
