import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { items } from "../harness/arrow.js";
import { expectFailure } from "../harness/expect-failure.js";
import { newKey, type Server } from "../harness/server.js";
import { startServerForTest } from "../harness/setup-server.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { waitForOutput } from "../harness/wait-for-output.js";

const key = newKey();

const serve = (root: string, ...args: string[]): Promise<Server> =>
  startServerForTest({ root, key, args });

function directory(purpose: string): string {
  const path = tempDir(purpose);
  onTestFinished(() => removeDir(path));
  return path;
}

/** A Lance table outside of the served root. */
async function tableElsewhere(rows: number): Promise<string> {
  const root = directory("elsewhere");
  const server = await serve(root);
  const { location } = await server.client.createTable("t", items(rows));
  await server.stop();
  return location;
}

const tables = async (server: Server): Promise<string[]> =>
  (await server.client.get("/v1/table")).json.tables;

const isLink = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;

/** How often a text occurs in the server's output. */
const times = (server: Server, text: string): number => server.output().split(text).length - 1;

describe("a symbolic link in the root", () => {
  it("is a table if its target is one, and a broken link is skipped and logged once", async () => {
    const table = await tableElsewhere(7);
    const root = directory("links");
    const elsewhere = directory("targets");
    writeFileSync(join(elsewhere, "file"), "mine");
    mkdirSync(join(elsewhere, "no-table"));
    mkdirSync(join(elsewhere, "unreadable"));
    symlinkSync("_versions", join(elsewhere, "unreadable", "_versions"));
    symlinkSync("loop.lance", join(root, "loop.lance"));
    symlinkSync(root, join(root, "upwards.lance"));
    symlinkSync(join(elsewhere, "missing"), join(root, "dangling.lance"));
    symlinkSync(join(elsewhere, "file"), join(root, "file.lance"));
    symlinkSync(join(elsewhere, "no-table"), join(root, "no-table.lance"));
    symlinkSync(join(elsewhere, "unreadable"), join(root, "unreadable.lance"));
    mkdirSync(join(root, "looping.lance"));
    symlinkSync("_versions", join(root, "looping.lance", "_versions"));
    symlinkSync("__manifest", join(root, "__manifest"));
    symlinkSync(table, join(root, "good.lance"));

    const server = await serve(root);
    const { client } = server;
    expect(await tables(server)).toEqual(["good"]);
    expect(await client.count("good")).toBe(7);
    await client.insert("good", items(3, { from: 7 }));
    expect(await client.count("good")).toBe(10);
    expectFailure(await client.post("/v1/table/none/describe"), 404, 4);

    const broken = [
      "loop",
      "upwards",
      "dangling",
      "file",
      "no-table",
      "unreadable",
      "looping",
    ] as const;
    for (const name of broken) {
      expect(times(server, `${name}.lance"`), name).toBe(1);
      expectFailure(await client.post(`/v1/table/${name}/describe`), 404, 4);
      expectFailure(await client.post(`/v1/table/${name}/drop`), 404, 4);
      // A new table with that name is not written through the link.
      const made = await client.createTable(name, items(1));
      expect(made.location).not.toBe(join(root, `${name}.lance`));
      expect(await client.count(name)).toBe(1);
    }
    expect(times(server, '__manifest"')).toBe(1);
    expect(readdirSync(join(elsewhere, "no-table"))).toEqual([]);
    expect(existsSync(join(elsewhere, "missing"))).toBe(false);
  });

  it("is removed with its table, and its target stays", async () => {
    const table = await tableElsewhere(5);
    const before = readdirSync(table, { recursive: true }).sort();
    const root = directory("links");
    symlinkSync(table, join(root, "linked.lance"));
    const server = await serve(root);
    expect(await server.client.count("linked")).toBe(5);
    await server.client.ok("/v1/table/linked/drop");
    expect(isLink(join(root, "linked.lance"))).toBe(false);
    expect(readdirSync(table, { recursive: true }).sort()).toEqual(before);
    expect(await tables(server)).toEqual([]);
    await server.client.createTable("linked", items(2));
    expect(await server.client.count("linked")).toBe(2);
  });

  it("inside a table is removed with the table, and its target stays", async () => {
    const root = directory("links");
    const server = await serve(root);
    const { location } = await server.client.createTable("t", items(5));
    const moved = directory("moved");
    writeFileSync(join(moved, "mine"), "mine");
    symlinkSync(moved, join(location, "_deletions"));
    await server.client.ok("/v1/table/t/drop");
    expect(existsSync(location)).toBe(false);
    expect(readdirSync(moved)).toEqual(["mine"]);
  });

  it("in a location path is allowed for existing tables only", async () => {
    const table = await tableElsewhere(4);
    const root = directory("links");
    symlinkSync(join(table, ".."), join(root, "shelf"));
    const server = await serve(root);
    const { client } = server;
    const declare = (location: string) => client.post("/v1/table/new/declare", { location });
    expectFailure(await declare("shelf/new.lance"), 400, 13, /symbolic link/);
    expectFailure(await declare("shelf"), 400, 13, /location/);
    await client.ok("/v1/table/shelved/register", { location: "shelf/t.lance" });
    expect(await client.count("shelved")).toBe(4);
    await client.ok("/v1/table/shelved/drop");
    expectFailure(await client.post("/v1/table/shelved/describe"), 404, 4);
    expect(readdirSync(table)).toEqual(expect.arrayContaining(["_versions", "data"]));
    expect(isLink(join(root, "shelf"))).toBe(true);
    await waitForOutput(server, "still holds files that are not part of the table");
  });

  it("is not followed with --follow-links never", async () => {
    const table = await tableElsewhere(5);
    const root = directory("links");
    const link = join(root, "linked.lance");
    symlinkSync(table, link);
    symlinkSync(join(table, ".."), join(root, "shelf"));
    const never = await serve(root, "--follow-links", "never");
    expect(await tables(never)).toEqual([]);
    expect(times(never, 'linked.lance"')).toBe(1);
    for (const location of ["linked.lance", "shelf/t.lance"]) {
      const answer = await never.client.post("/v1/table/x/register", { location });
      expectFailure(answer, 409, 19, /--follow-links never/);
    }
    await never.stop();

    const always = await serve(root, "--follow-links", "always");
    expect(await always.client.count("linked")).toBe(5);
    await always.stop();

    // The catalog has it now.
    const again = await serve(root, "--follow-links", "never");
    const answer = await again.client.post("/v1/table/linked/count_rows", {});
    expectFailure(answer, 409, 19, /--follow-links never/);
    const insert = await again.client.post("/v1/table/linked/insert", items(1));
    expectFailure(insert, 409, 19, /--follow-links never/);
    await again.client.ok("/v1/table/linked/drop");
    expect(isLink(link)).toBe(false);
    expect(readlinkSync(join(root, "shelf"))).toBe(join(table, ".."));
    expect(existsSync(join(table, "_versions"))).toBe(true);
  });
});
