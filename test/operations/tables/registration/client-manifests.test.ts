/**
 * Manifests of clients cannot define a view: a refresh would read the tables that they name, without a check. They cannot
 * declare a function either, which the server may run.
 */
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { items } from "../../../harness/arrow.js";
import { expectFailure } from "../../../harness/expect-failure.js";
import { setupServer } from "../../../harness/setup-server.js";

const joust = setupServer();
const post = (path: string, body: object) => joust.client.post(path, body);

/** Manifest name of a version in the V2 scheme. */
const manifestName = (version: number) =>
  `${(2n ** 64n - 1n - BigInt(version)).toString().padStart(20, "0")}.manifest`;

/** What the manifest contains in place of the prefix, which requests refuse: it has the same length. */
const MASK = "xoust.view.";
const unmasked = (manifest: Buffer): Buffer =>
  Buffer.from(manifest.toString("latin1").replaceAll(MASK, "joust.view."), "latin1");

/** Copies a table; returns the location of the copy, which is not registered yet. */
function copied(location: string, name: string): string {
  const copy = join(joust.root, "copies", name);
  cpSync(location, copy, { recursive: true });
  return copy;
}

/** A table with a masked key in its metadata in version 2. */
async function masked(id: string, metadata: Record<string, string>): Promise<string> {
  const { location } = await joust.client.createTable(id, items(3));
  await joust.client.ok(`/v1/table/${id}/schema_metadata/update`, metadata);
  return location;
}

/** Stages the manifest of a version of the table at `from` in the table at `to`, with its files. */
function stage(from: string, to: string, version: number, change: (bytes: Buffer) => Buffer) {
  for (const folder of ["data", "_transactions"]) {
    if (existsSync(join(from, folder))) {
      cpSync(join(from, folder), join(to, folder), { recursive: true });
    }
  }
  const manifest_path = join(to, "_versions", `${version}.staged`);
  cpSync(join(from, "_versions", manifestName(version)), manifest_path);
  writeFileSync(manifest_path, change(readFileSync(manifest_path)));
  return { version, manifest_path };
}

it("a client's manifest cannot turn a table into a view", async () => {
  const { client } = joust;
  const forged = await masked("forger", {
    "mv.definition": JSON.stringify({ format: 1, kind: "query", query: "SELECT * FROM hidden" }),
    [`${MASK}tables`]: JSON.stringify([{ name: ["hidden"], table: ["hidden"] }]),
  });
  const { location } = await client.createTable("t", items(3));
  const declared = (await client.ok("/v1/table/declared/declare")).location;
  for (const [id, place] of [
    ["t", location],
    ["declared", declared],
  ]) {
    const version = stage(forged, place, 2, unmasked);
    const entry = { id: [id], ...version };
    for (const answer of [
      await post(`/v1/table/${id}/version/create`, version),
      await post("/v1/table/version/batch-create", { entries: [entry] }),
      await post("/v1/table/batch-commit", { operations: [{ create_table_version: entry }] }),
    ]) {
      expectFailure(answer, 400, 13, /`joust.view.`.*materialized view/);
    }
  }
  expectFailure(await post("/v1/materialized_view/t/refresh", {}), 409, 19);
  // Without those keys it is a version as any other.
  const version = stage(forged, location, 2, (bytes) => bytes);
  expect((await post("/v1/table/t/version/create", version)).status).toBe(200);
});

it("a client's manifest keeps the keys that the table has already", async () => {
  const { client } = joust;
  const location = await masked("keeper", { [`${MASK}note`]: "value-a" });
  const known = copied(location, "known");
  const newest = join(known, "_versions", manifestName(2));
  writeFileSync(newest, unmasked(readFileSync(newest)));
  await client.ok("/v1/table/known/register", { location: "copies/known" });
  expect((await client.ok("/v1/table/known/describe")).schema.metadata).toEqual({
    "joust.view.note": "value-a",
  });
  await client.insert("keeper", items(1));
  const other = (bytes: Buffer) =>
    Buffer.from(unmasked(bytes).toString("latin1").replaceAll("value-a", "value-b"), "latin1");
  // Another value, and the key removed.
  for (const change of [other, (bytes: Buffer) => bytes]) {
    const version = stage(location, known, 3, change);
    expectFailure(await post("/v1/table/known/version/create", version), 400, 13, /joust.view/);
  }
  const version = stage(location, known, 3, unmasked);
  expect((await post("/v1/table/known/version/create", version)).status).toBe(200);
  expect(await client.count("known")).toBe(4);
});

it("a client's manifest cannot declare a function", async () => {
  const { client } = joust;
  const { location: from } = await client.createTable("functions", items(3));
  const python = { source: "def f(id): return id", entry: "f" };
  const virtual_column = { input_columns: ["id"], data_type: "int64", python };
  await client.ok("/v1/table/functions/add_columns", {
    new_columns: [{ name: "v", virtual_column }],
  });
  const { location } = await client.createTable("victim", items(3));
  const version = stage(from, location, 2, (bytes) => bytes);
  const entry = { id: ["victim"], ...version };
  for (const answer of [
    await post("/v1/table/victim/version/create", version),
    await post("/v1/table/version/batch-create", { entries: [entry] }),
    await post("/v1/table/batch-commit", { operations: [{ create_table_version: entry }] }),
  ]) {
    expectFailure(answer, 400, 13, /`virtual_column`.*add_columns/);
  }
  // A table that has the declaration keeps it.
  await client.insert("functions", items(1));
  const kept = copied(from, "kept");
  await client.ok("/v1/table/kept/register", { location: "copies/kept" });
  await client.insert("functions", items(1));
  const next = stage(from, kept, 4, (bytes) => bytes);
  expect((await post("/v1/table/kept/version/create", next)).status).toBe(200);
});
