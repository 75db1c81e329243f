import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { items } from "../harness/arrow.js";
import { expectFailure } from "../harness/expect-failure.js";
import { startServer } from "../harness/server.js";
import { setupServer } from "../harness/setup-server.js";
import { beginCreate } from "../harness/socket.js";
import { removeDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";
import { waitForOutput } from "../harness/wait-for-output.js";

const joust = setupServer();
const post = (path: string, body: object = {}) => joust.client.post(`/v1/table/${path}`, body);
const inRoot = (...parts: string[]) => join(joust.root, ...parts);

/** Creates a file in the root that belongs to no table; returns its path. */
function foreign(path: string): string {
  const file = inRoot(path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "mine");
  return file;
}

/** Creates a Lance table in the root that the catalog does not have. */
async function unknownTable(path: string, rows: number): Promise<string> {
  const name = `source-${path.replaceAll("/", "-")}`;
  const { location } = await joust.client.createTable(name, items(rows));
  cpSync(location, inRoot(path), { recursive: true });
  return inRoot(path);
}

/** Longer than the interval between two scans of the root. */
const SCAN_INTERVAL_MS = 1_200;

describe("a location chosen by a client", () => {
  it.each(["declare", "batch-commit"])("must be empty or absent: %s", async (how) => {
    const dump = foreign(`backups-${how}/2026/dump.sql`);
    const nested = await unknownTable(`backups-${how}/loose.lance`, 3);
    const location = `backups-${how}`;
    const answer =
      how === "declare"
        ? await post("taker/declare", { location })
        : await joust.client.post("/v1/table/batch-commit", {
            operations: [{ declare_table: { id: ["taker"], location } }],
          });
    expectFailure(answer, 400, 13, /location.*empty/);
    expectFailure(await post("taker/describe"), 404, 4);
    expectFailure(await post("taker/drop"), 404, 4);
    expect(readFileSync(dump, "utf8")).toBe("mine");
    expect(existsSync(join(nested, "_versions"))).toBe(true);

    mkdirSync(inRoot(`empty-${how}`));
    await joust.client.ok(`/v1/table/in-empty-${how}/declare`, { location: `empty-${how}` });
    await joust.client.insert(`in-empty-${how}`, items(2));
    expect(await joust.client.count(`in-empty-${how}`)).toBe(2);
  });

  it("is rejected if it is inside a file or inside a table that the catalog does not have", async () => {
    foreign("a-file");
    expectFailure(await post("taker/declare", { location: "a-file" }), 400, 13, /location/);
    expectFailure(await post("taker/declare", { location: "a-file/in" }), 400, 13, /location/);
    await unknownTable("unknown/t.lance", 1);
    for (const location of ["unknown/t.lance", "unknown/t.lance/new", "unknown/t.lance/data/new"]) {
      expectFailure(await post("taker/declare", { location }), 409, 5, /location/);
    }
  });

  it("is rejected inside another table, also for a registration", async () => {
    await unknownTable("outer/t.lance", 1);
    await unknownTable("outer/t.lance/tree/inner", 2);
    const inside = { location: "outer/t.lance/tree/inner" };
    expectFailure(await post("inside/register", inside), 409, 5, /location/);
    await joust.client.ok("/v1/table/outer/register", { location: "outer/t.lance" });
    expectFailure(await post("inside/register", inside), 409, 5, /location/);
  });

  it("must contain a Lance table to be registered", async () => {
    const file = foreign("papers/_versions/notes.txt");
    expectFailure(await post("x/register", { location: "papers" }), 400, 13, /no Lance table/);
    expect(existsSync(file)).toBe(true);
  });
});

describe("drop", () => {
  it("leaves foreign files in the directory and does not serve the table again", async () => {
    const { client, server } = joust;
    const { location } = await client.createTable("shared", items(3));
    await client.ok("/v1/table/shared/create_index", { column: "id", index_type: "BTREE" });
    await client.ok("/v1/table/shared/tags/create", { tag: "v1", version: 1 });
    await client.ok("/v1/table/shared/branches/create", { name: "dev" });
    await client.insert("shared", items(2), { branch: "dev" });
    await client.ok("/v1/table/shared/delete", { predicate: "id = 0" });
    writeFileSync(join(location, "notes.txt"), "mine");
    const { location: nested } = await client.createTable("nested-source", items(4));
    cpSync(nested, join(location, "nested.lance"), { recursive: true });

    await client.ok("/v1/table/shared/drop");
    expect(readdirSync(location).sort()).toEqual(["nested.lance", "notes.txt"]);
    expect(existsSync(join(location, "nested.lance", "_versions"))).toBe(true);
    await waitForOutput(server, /"notes\.txt".*still holds files that are not part of the table/);

    await sleep(SCAN_INTERVAL_MS);
    expect((await client.get("/v1/table")).json.tables).not.toContain("shared");
    expectFailure(await post("shared/describe"), 404, 4);
    // The name is free; a new table gets another location.
    const again = await client.createTable("shared", items(1));
    expect(again.location).not.toBe(location);
    expect(await client.count("shared")).toBe(1);
    expect(readdirSync(location).sort()).toEqual(["nested.lance", "notes.txt"]);
  });

  it("leaves foreign files at the location of a declared table, also when its namespace is dropped", async () => {
    const { client } = joust;
    await client.createNamespace("ns");
    await client.ok("/v1/table/ns$late/declare", { location: "late" });
    const file = foreign("late/later.txt");
    await client.createTable("ns$written", items(1));
    const { location } = await client.ok("/v1/table/ns$written/describe");
    writeFileSync(join(location, "beside.txt"), "mine");
    await client.ok("/v1/namespace/ns/drop", { behavior: "Cascade" });
    expect(existsSync(file)).toBe(true);
    expect(readdirSync(location)).toEqual(["beside.txt"]);
  });

  it("removes every file that the server wrote for the table and its directory", async () => {
    const { client } = joust;
    const { location } = await client.createTable("whole", items(300));
    await client.ok("/v1/table/whole/create_index", { column: "id", index_type: "BTREE" });
    await client.ok("/v1/table/whole/tags/create", { tag: "v1", version: 1 });
    await client.ok("/v1/table/whole/branches/create", { name: "a/b" });
    await client.insert("whole", items(2), { branch: "a/b" });
    await client.ok("/v1/table/whole/delete", { predicate: "id = 0" });
    await client.ok("/v1/table/whole/drop");
    expect(existsSync(location)).toBe(false);
  });
});

describe("deregister", () => {
  it("leaves all files", async () => {
    const { client } = joust;
    const { location } = await client.createTable("kept", items(2));
    writeFileSync(join(location, "notes.txt"), "mine");
    const before = readdirSync(location).sort();
    await client.ok("/v1/table/kept/deregister");
    expect(readdirSync(location).sort()).toEqual(before);
  });
});

describe("a failed create", () => {
  it("leaves files that existed before", async () => {
    const { client } = joust;
    const file = foreign("broken.lance/notes.txt");
    const own = foreign("broken.lance/data/mine.bin");
    const broken = items(10).subarray(0, 300);
    expectFailure(await client.post("/v1/table/broken/create", broken), 400, 13);
    const { location } = await client.createTable("broken", items(2));
    expect(location).not.toBe(inRoot("broken.lance"));
    await client.ok("/v1/table/broken/drop");
    expect(existsSync(file) && existsSync(own)).toBe(true);
  });

  it("leaves foreign files when the server was killed", async () => {
    const server = await startServer();
    const { root, key } = server;
    onTestFinished(() => removeDir(root));
    const socket = beginCreate(server, "t");
    await waitFor("files are being written", () => existsSync(join(root, "t.lance", "data")));
    writeFileSync(join(root, "t.lance", "notes.txt"), "mine");
    await server.kill();
    socket.destroy();
    const next = await startServer({ root, key });
    onTestFinished(async () => {
      await next.stop();
    });
    expect(readdirSync(join(root, "t.lance"))).toEqual(["notes.txt"]);
    expect((await next.client.get("/v1/table")).json.tables).toEqual([]);
  });
});

describe("a directory named like a table but without a table", () => {
  it("is not served until it contains a table", async () => {
    const { client } = joust;
    mkdirSync(inRoot("hollow.lance"));
    foreign("papers.lance/notes.txt");
    foreign("plain.lance");
    await sleep(SCAN_INTERVAL_MS);
    const { tables } = (await client.get("/v1/table")).json;
    for (const name of ["hollow", "papers", "plain"]) {
      expect(tables).not.toContain(name);
      expectFailure(await post(`${name}/drop`), 404, 4);
    }
    expect(existsSync(inRoot("papers.lance/notes.txt"))).toBe(true);
    expect(existsSync(inRoot("plain.lance"))).toBe(true);
    await waitForOutput(joust.server, /papers\.lance.*no Lance table is there/);
    await waitForOutput(joust.server, /plain\.lance.*not a directory/);

    const { location } = await client.createTable("hollow-source", items(6));
    rmSync(inRoot("hollow.lance"), { recursive: true });
    cpSync(location, inRoot("hollow.lance"), { recursive: true });
    await waitFor("the table is served", async () => (await client.count("hollow")) === 6);
  });
});
