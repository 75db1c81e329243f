import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Server } from "../../harness/server.js";
import type { Batch } from "./row-writer.js";
import type { Known } from "./table-maker.js";

/** Every acknowledged row exists exactly once, and no batch exists in part. */
export async function checkRows({ client }: Server, batches: readonly Batch[]): Promise<void> {
  const answer = await client.query("rows", {
    k: 2 ** 31 - 1,
    vector: {},
    columns: { column_names: ["batch", "row"] },
  });
  const result = new Map<number, Set<number>>();
  for (const line of answer) {
    const number = Number(line.batch);
    const rows = result.get(number) ?? new Set();
    expect(rows.has(line.row), `row ${line.row} of batch ${number} is there twice`).toBe(false);
    result.set(number, rows.add(line.row));
  }
  for (const { number, rows, answered } of batches) {
    const stored = result.get(number)?.size ?? 0;
    if (answered) expect(stored, `acknowledged batch ${number}`).toBe(rows);
    else expect([0, rows], `unacknowledged batch ${number}`).toContain(stored);
    result.delete(number);
  }
  expect([...result.keys()], "batches that no client sent").toEqual([]);
}

/** The index on `batch` returns the same rows as a scan. */
export async function checkIndex({ client }: Server, batches: readonly Batch[]): Promise<void> {
  const some = batches.filter((batch) => batch.answered).slice(-40);
  for (const { number, rows } of some) {
    expect(await client.count("rows", { predicate: `batch = ${number}` })).toBe(rows);
    expect(await client.count("rows", { predicate: `batch + 0 = ${number}` })).toBe(rows);
  }
}

/** The catalog lists exactly the acknowledged tables: no partial table and no orphaned file. */
export async function checkCatalog(server: Server, tables: Map<string, Known>): Promise<void> {
  const listed = [
    ...(await namesOf(server, "$")),
    ...(await namesOf(server, "space")).map((name) => `space$${name}`),
  ].filter((id) => id !== "rows");
  for (const [id, known] of tables) {
    const there = listed.includes(id);
    if (known !== "unknown") expect(there, `table ${id}`).toBe(known === "there");
    tables.set(id, there ? "there" : "gone");
  }
  await checkFiles(server, [...listed, "rows"]);
}

/** The tables of the root are complete, and there are no files besides theirs and the `known` ones. */
export async function checkFiles(
  { client, root }: Server,
  tables: readonly string[],
  known: readonly string[] = [],
): Promise<void> {
  const locations = new Set(known.map((name) => join(root, name)));
  for (const id of tables) {
    const path = `/v1/table/${encodeURIComponent(id)}`;
    locations.add((await client.ok(`${path}/describe`)).location);
    expect(await client.count(id), id).toBeGreaterThanOrEqual(0);
  }
  const files = readdirSync(root).filter((name) => !name.startsWith(".joust"));
  const strays = files.filter((name) => !locations.has(join(root, name)));
  expect(strays, "directories of no table").toEqual([]);
}

/** The tables of a namespace. */
export async function namesOf({ client }: Server, namespace: string): Promise<string[]> {
  const names: string[] = [];
  let token: string | undefined;
  do {
    const page = await client.get(
      `/v1/namespace/${encodeURIComponent(namespace)}/table/list`,
      token ? { page_token: token } : {},
    );
    expect(page.status).toBe(200);
    names.push(...page.json.tables);
    token = page.json.page_token;
  } while (token);
  return names;
}
