import { cpSync, existsSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { newKey, type Server } from "../harness/server.js";
import { startServerForTest } from "../harness/setup-server.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { waitForOutput } from "../harness/wait-for-output.js";

let dir: string;
const key = newKey();
beforeEach(() => {
  dir = tempDir("moved");
});
afterEach(() => removeDir(dir));

const serve = (root: string): Promise<Server> => startServerForTest({ root, key });

/** A root with one table in a namespace and one in the root, of 5 rows each. */
async function filled(root: string): Promise<void> {
  const server = await serve(root);
  await server.client.createNamespace("n");
  await server.client.createTable("n$t", items(5));
  await server.client.createTable("t", items(5));
  await server.stop();
}

it("a moved root is served with the tables of its namespaces", async () => {
  await filled(join(dir, "before"));
  renameSync(join(dir, "before"), join(dir, "after"));
  const server = await serve(join(dir, "after"));
  expect(await server.client.count("n$t")).toBe(5);
  await server.client.insert("n$t", items(1));
  expect(await server.client.count("n$t")).toBe(6);
  expect(existsSync(join(dir, "before"))).toBe(false);
});

it("serving a copy of a root leaves the original unchanged", async () => {
  const [original, copy] = [join(dir, "original"), join(dir, "copy")];
  await filled(original);
  cpSync(original, copy, { recursive: true });
  const server = await serve(copy);
  await server.client.insert("n$t", items(3));
  await server.client.ok("/v1/table/t/drop", {});
  await server.stop();
  const first = await serve(original);
  expect(await first.client.count("n$t")).toBe(5);
  expect(await first.client.count("t")).toBe(5);
});

it("a symbolic link to the root is the same root", async () => {
  const [root, link] = [join(dir, "root"), join(dir, "link")];
  await filled(root);
  symlinkSync(root, link);
  const server = await serve(root);
  const other = await serve(link);
  expect(await server.client.count("n$t")).toBe(5);
  expect(await other.client.count("n$t")).toBe(5);
});

it("shallow clones are read through a link at the former path, and protect their sources at the new one", async () => {
  const [before, after] = [join(dir, "before"), join(dir, "after")];
  const first = await serve(before);
  await first.client.createTable("t", items(5));
  const { location } = await first.client.ok("/v1/table/t/describe");
  await first.client.ok("/v1/table/clone/clone", { source_location: location });
  await first.stop();
  renameSync(before, after);
  const server = await serve(after);
  await waitForOutput(server, "shallow clones still read the files of their sources");
  symlinkSync(after, before);
  expect(await server.client.count("clone", { predicate: "id >= 0" })).toBe(5);
  await server.client.ok("/v1/table/t/drop", {});
  expect(await server.client.count("clone", { predicate: "id > 0" })).toBe(4);
  expect(existsSync(join(after, "t.lance", "data"))).toBe(true);
  await server.client.ok("/v1/table/clone/drop", {});
  await server.stop();
  await serve(after);
  expect(existsSync(join(after, "t.lance"))).toBe(false);
});
