import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import type { Client } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { newKey, startServer } from "../../harness/server.js";
import { setupServer } from "../../harness/setup-server.js";
import { removeDir, tempDir } from "../../harness/temp.js";
import { waitFor } from "../../harness/wait-for.js";

const joust = setupServer();

const locationOf = async (client: Client, id: string): Promise<string> =>
  (await client.ok(`/v1/table/${id}/describe`)).location;

async function clone(client: Client, id: string, source: string, body: object = {}) {
  const source_location = await locationOf(client, source);
  return client.ok(`/v1/table/${id}/clone`, { source_location, ...body });
}

/** The ids of all rows, read from the files of the table. */
async function ids(client: Client, id: string): Promise<number[]> {
  const columns = { column_names: ["id", "name"] };
  const rows = [...(await client.query(id, { k: 10_000, vector: {}, columns }))];
  for (const row of rows) expect(row.name).toBe(`item ${row.id}`);
  return rows.map((row) => Number(row.id)).sort((a, b) => a - b);
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);
const tagsOf = async (client: Client, id: string): Promise<string[]> =>
  Object.keys((await client.ok(`/v1/table/${id}/tags/list`)).tags);

describe("a shallow clone", () => {
  beforeAll(() => joust.client.createTable("base", items(50)));

  it("is the default and has no data files; a deep one has copies", async () => {
    const { client, root } = joust;
    for (const [id, body, isShallow] of [
      ["by_default", {}, true],
      ["shallow", { is_shallow: true }, true],
      ["deep", { is_shallow: false }, false],
    ] as const) {
      await clone(client, id, "base", body);
      expect([id, existsSync(join(root, `${id}.lance`, "data"))]).toEqual([id, !isShallow]);
      expect(await ids(client, id)).toEqual(range(0, 50));
    }
    expect(await tagsOf(client, "base")).toHaveLength(2);
  });

  it("keeps the files of a dropped source until it is dropped, and the name is free", async () => {
    const { client, root } = joust;
    await client.createTable("parent", items(20));
    await clone(client, "child", "parent");
    const location = await locationOf(client, "parent");
    await client.ok("/v1/table/parent/drop");
    expectFailure(await client.post("/v1/table/parent/describe"), 404, 4);
    expect(readdirSync(location)).toContain("data");
    await client.createTable("parent", items(3));
    expect(await locationOf(client, "parent")).not.toBe(location);
    await client.insert("child", items(5, { from: 20 }));
    expect(await ids(client, "child")).toEqual(range(0, 25));
    await client.ok("/v1/table/child/drop");
    expect(existsSync(join(root, "child.lance"))).toBe(false);
    const timeoutMs = 45_000;
    await waitFor("the files are removed", () => !existsSync(location), { timeoutMs });
    expect(await ids(client, "parent")).toEqual(range(0, 3));
  }, 60_000);

  it("reads its files after any change of the source", async () => {
    const { client } = joust;
    await client.createNamespace("moved");
    await client.createTable("busy", items(30));
    await client.insert("busy", items(10, { from: 30 }));
    await clone(client, "still", "busy");
    await client.ok("/v1/table/busy/rename", {
      new_table_name: "renamed",
      new_namespace_id: ["moved"],
    });
    const id = "moved$renamed";
    await client.ok(`/v1/table/${id}/restore`, { version: 1 });
    await client.ok(`/v1/table/${id}/update`, { updates: [["name", "'x'"]] });
    await client.ok(`/v1/table/${id}/drop_columns`, { columns: ["price"] });
    await client.createTable(id, items(2), { mode: "overwrite" });
    await client.ok(`/v1/table/${id}/create_index`, { column: "id", index_type: "BTREE" });
    expect(await ids(client, "still")).toEqual(range(0, 40));
    await client.ok(`/v1/table/${id}/drop`);
    expect(await ids(client, "still")).toEqual(range(0, 40));
  });

  it("of a clone survives the drop of every table between", async () => {
    const { client } = joust;
    await client.createTable("g0", items(10));
    await clone(client, "g1", "g0");
    await client.insert("g1", items(10, { from: 10 }));
    await clone(client, "g2", "g1");
    await client.insert("g2", items(10, { from: 20 }));
    await clone(client, "g3", "g2");
    for (const dropped of ["g1", "g0", "g2"]) {
      await client.ok(`/v1/table/${dropped}/drop`);
      expect(await ids(client, "g3")).toEqual(range(0, 30));
    }
    await clone(client, "copy", "g3", { is_shallow: false });
    await client.ok("/v1/table/g3/drop");
    expect(await ids(client, "copy")).toEqual(range(0, 30));
  });

  it("of a version, a tag and a branch has its rows", async () => {
    const { client } = joust;
    await client.createTable("history", items(5));
    await client.insert("history", items(5, { from: 5 }));
    await client.ok("/v1/table/history/branches/create", { name: "work", from_version: 1 });
    await client.insert("history", items(2, { from: 5 }), { branch: "work" });
    const { version } = await client.ok("/v1/table/history/describe", { branch: "work" });
    for (const [tag, body] of [
      ["first", { version: 1 }],
      ["on_work", { version, branch: "work" }],
    ] as const) {
      await client.ok("/v1/table/history/tags/create", { tag, ...body });
    }
    await clone(client, "h1", "history", { source_version: 1 });
    await clone(client, "h2", "history", { source_tag: "first" });
    await clone(client, "h3", "history", { source_tag: "on_work" });
    await client.ok("/v1/table/history/tags/delete", { tag: "on_work" });
    const refused = await client.post("/v1/table/history/branches/delete", { name: "work" });
    expectFailure(refused, 409, 19, /drop the clones first/);
    await client.ok("/v1/table/history/drop");
    expect(await ids(client, "h1")).toEqual(range(0, 5));
    expect(await ids(client, "h2")).toEqual(range(0, 5));
    expect(await ids(client, "h3")).toEqual(range(0, 7));
  });

  it("is dropped with its source and their namespace", async () => {
    const { client, root } = joust;
    await client.createNamespace("both");
    await client.createTable("both$source", items(5));
    await clone(client, "both$clone", "both$source");
    await clone(client, "outside", "both$source");
    await client.ok("/v1/namespace/both/drop", { behavior: "Cascade" });
    expect(await ids(client, "outside")).toEqual(range(0, 5));
    const left = readdirSync(root).filter((name) => name.includes("both$"));
    expect(left).toEqual([expect.stringMatching(/both\$source$/)]);
  });

  it("stays readable while its source and itself are deregistered", async () => {
    const { client } = joust;
    await client.createTable("registered", items(5));
    await clone(client, "aside", "registered");
    const locations = await Promise.all(
      ["registered", "aside"].map((id) => locationOf(client, id)),
    );
    for (const id of ["registered", "aside"]) await client.ok(`/v1/table/${id}/deregister`);
    await client.ok("/v1/table/again/register", { location: locations[0] });
    await client.ok("/v1/table/again/drop");
    await client.ok("/v1/table/aside/register", { location: locations[1] });
    expect(await ids(client, "aside")).toEqual(range(0, 5));
  });
});

describe("the tag of a shallow clone", () => {
  it("can be neither made, moved nor deleted, and is removed with the clone", async () => {
    const { client } = joust;
    await client.createTable("tagged", items(5));
    await client.insert("tagged", items(5, { from: 5 }));
    await clone(client, "holder", "tagged", { source_version: 1 });
    const [tag = ""] = await tagsOf(client, "tagged");
    expect(tag).toMatch(/^joust-clone-[0-9a-f-]{36}$/);
    const tags = (operation: string, body: object) =>
      client.post(`/v1/table/tagged/tags/${operation}`, body);
    expectFailure(await tags("delete", { tag }), 409, 19, /drop the clone/);
    expectFailure(await tags("update", { tag, version: 2 }), 400, 13, /clones read/);
    const own = { tag: "joust-clone-mine", version: 2 };
    expectFailure(await tags("create", own), 400, 13, /choose another name/);
    const ranges = { ranges: [{ start_version: 1, end_version: 2 }] };
    const refused = await client.post("/v1/table/tagged/version/delete", ranges);
    expectFailure(refused, 409, 19, /drop the clone first/);
    await client.ok("/v1/table/holder/drop");
    expect(await tagsOf(client, "tagged")).toEqual([]);
    expect((await client.post("/v1/table/tagged/version/delete", ranges)).status).toBe(200);
  });

  it("is removed when the clone fails", async () => {
    const { client } = joust;
    await client.createTable("failing", items(5));
    const source_location = await locationOf(client, "failing");
    const body = { source_location, source_version: 99 };
    expectFailure(await client.post("/v1/table/never/clone", body), 404, 11);
    const taken = { source_location };
    expectFailure(await client.post("/v1/table/failing/clone", taken), 400, 5);
    expect(await tagsOf(client, "failing")).toEqual([]);
    await client.ok("/v1/table/failing/drop");
    expect(existsSync(source_location)).toBe(false);
  });
});

describe("a source that is no plain table of the catalog", () => {
  it("is copied", async () => {
    const { client, root } = joust;
    await client.createTable("unlisted", items(5));
    const source_location = await locationOf(client, "unlisted");
    await client.ok("/v1/table/unlisted/deregister");
    await client.ok("/v1/table/copied/clone", { source_location, is_shallow: true });
    expect(existsSync(join(root, "copied.lance", "data"))).toBe(true);
    expect(await ids(client, "copied")).toEqual(range(0, 5));
  });
});

describe("after a restart", () => {
  it("files of a dropped source stay with its clone and are removed without it", async () => {
    const [root, key] = [tempDir("restarted"), newKey()];
    const source = join(root, "source.lance");
    let server = await startServer({ root, key });
    await server.client.createTable("source", items(5));
    await clone(server.client, "clone", "source");
    await server.client.ok("/v1/table/source/drop");
    await server.kill();
    server = await startServer({ root, key });
    expect(await ids(server.client, "clone")).toEqual(range(0, 5));
    const tables = (await server.client.get("/v1/namespace/$/table/list")).json.tables;
    expect(tables).toEqual(["clone"]);
    await server.client.ok("/v1/table/clone/drop");
    await server.stop();
    server = await startServer({ root, key });
    expect(existsSync(source)).toBe(false);
    await server.stop();
    removeDir(root);
  });
});
