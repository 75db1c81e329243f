import { cpSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { startServer } from "../harness/server.js";
import { setupServer } from "../harness/setup-server.js";

const joust = setupServer({ args: ["--maintenance", "off"] });

/** Makes a directory with the same inode number if the file system reuses it. */
function makeDirectory(path: string, inode: number): boolean {
  const tried: string[] = [];
  let same = false;
  while (!same && tried.length < 500) {
    const next = `${path}-${tried.length}`;
    mkdirSync(next);
    tried.push(next);
    same = statSync(next).ino === inode;
  }
  renameSync(tried.pop() as string, path);
  for (const other of tried) rmSync(other, { recursive: true });
  return same;
}

it("a table that replaces another one is not read with cached state of the former one", async () => {
  const { client } = joust;
  const { location } = await client.createTable("t", items(5));
  await client.insert("t", items(1));
  // The server caches version 1 now.
  expect(await client.count("t", { version: 1, predicate: "id >= 0" })).toBe(5);
  expect(await client.count("t")).toBe(6);

  const elsewhere = await startServer();
  await elsewhere.client.createTable("t", items(7));
  await elsewhere.client.insert("t", items(10));
  await elsewhere.client.insert("t", items(10));
  const other = join(elsewhere.root, "t.lance");

  const versions = join(location, "_versions");
  const inode = statSync(versions).ino;
  rmSync(location, { recursive: true });
  mkdirSync(location);
  const same = makeDirectory(versions, inode);
  if (!same) console.log("the file system gave the directory's inode to another one");
  // The versions last: the table is complete when it becomes visible.
  for (const name of readdirSync(other).sort((a) => (a === "_versions" ? 1 : -1))) {
    cpSync(join(other, name), join(location, name), { recursive: true });
  }
  await elsewhere.stop();

  expect(await client.count("t")).toBe(27);
  expect(await client.count("t", { version: 1, predicate: "id >= 0" })).toBe(7);
  expect(await client.count("t", { version: 2 })).toBe(17);
});
