/** Row filters over columns whose stored form is not that of their values: JSON and blobs. */
import { Field, Schema, Table, tableFromIPC, Utf8, vectorFromArray } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { stream, type } from "../../harness/arrow.js";
import { blobColumn } from "../../harness/blob-column.js";
import type { Client } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { setupGrants } from "./grant-callers.js";
import { ids, path, sql } from "./tenants.js";

const joust = setupServer();
const granted = setupGrants(joust);
const jsonText = new Map([["ARROW:extension:name", "arrow.json"]]);
const bytes = (n: number) => new TextEncoder().encode(`value ${n}`);

/** Even rows have a document, and rows from 3 on an image. */
function rows(all: readonly number[]): Uint8Array {
  const id = vectorFromArray(all, type.i32);
  const document = vectorFromArray(
    all.map((n) => (n % 2 === 0 ? JSON.stringify({ n }) : null)),
    new Utf8(),
  );
  const image = blobColumn(
    "image",
    all.map((n) => (n >= 3 ? bytes(n) : null)),
  );
  const schema = new Schema([
    new Field("id", type.i32, true),
    new Field("document", new Utf8(), true, jsonText),
    image.field,
  ]);
  return stream(new Table(schema, { id, document, image: image.vector }));
}

const filters: readonly (readonly [string, readonly number[]])[] = [
  ["document IS NOT NULL", [0, 2, 4]],
  ["document IS NULL AND id > 1", [3, 5]],
  ["image IS NOT NULL", [3, 4, 5]],
  ["image IS NULL OR document IS NULL", [0, 1, 2, 3, 5]],
];

beforeAll(() => joust.client.createNamespace("f"));

describe.each(filters)("the filter %j", (filter, visible) => {
  const name = `f$t${filters.findIndex(([one]) => one === filter)}`;
  let client: Client;
  let rowIds: number[];

  beforeAll(async () => {
    await joust.client.createTable(name, rows([0, 1, 2]));
    await joust.client.insert(name, rows([3, 4, 5]));
    const body = { k: 10, columns: { column_names: ["id"] }, with_row_id: true };
    const found = (await joust.client.query(name, body)).toArray();
    rowIds = found.sort((a, b) => a.id - b.id).map((row) => Number(row._rowid));
    ({ client } = await granted.filteredCaller(
      `table:${name}`,
      ["select", "insert", "update", "delete"],
      filter,
    ));
  });

  it("applies to queries, counts and SQL", async () => {
    expect(await ids(client, name)).toEqual(visible);
    expect(await ids(client, name, { filter: "id > 2" })).toEqual(visible.filter((n) => n > 2));
    expect(await client.count(name)).toBe(visible.length);
    const found = await sql(client, `SELECT id FROM f.${name.slice(2)} ORDER BY id`);
    expect(found.json.rows.map(({ id }: { id: number }) => id)).toEqual(visible);
  });

  it("applies to blobs", async () => {
    const fetch = (numbers: readonly number[]) =>
      client.post(path(name, "fetch_blobs/"), {
        column: "image",
        row_ids: numbers.map((n) => rowIds[n]),
      });
    const answer = await fetch(visible);
    expect([answer.status, answer.status === 200 ? "" : answer.text]).toEqual([200, ""]);
    const read = [...tableFromIPC(answer.bytes)].map(({ image }) => image);
    expect(read).toEqual(visible.map((n) => (n >= 3 ? bytes(n) : null)));
    for (const n of [0, 1, 2, 3, 4, 5]) {
      const status = visible.includes(n) ? 200 : 400;
      expect([n, (await fetch([n])).status]).toEqual([n, status]);
      expect((await fetch([n, visible[0] as number])).status).toBe(status);
      const one = path(name, `blob/image/${rowIds[n]}/bytes`);
      const got = await client.request(one, { method: "GET" });
      expect([n, got.status]).toEqual([n, status === 200 && n < 3 ? 204 : status]);
    }
  });

  it("applies to changes; a document in a condition permits no insert", async () => {
    const copy = `${name}_copy`;
    await joust.client.createTable(copy, rows([0, 1, 2, 3, 4, 5]));
    const all = ["insert", "update", "delete"] as const;
    const { client } = await granted.filteredCaller(`table:${copy}`, all, filter);
    const changed = await client.post(path(copy, "update"), { updates: [["id", "id + 10"]] });
    if (filter.includes("id")) expectFailure(changed, 403, 15);
    else expect(changed.json.updated_rows).toBe(visible.length);
    const insert = async (n: number) => (await client.post(path(copy, "insert"), rows([n]))).status;
    if (filter.includes("document")) expect([await insert(4), await insert(1)]).toEqual([400, 400]);
    else expect([await insert(1), await insert(2)]).toEqual([403, 403]);
    expect(await joust.client.count(copy)).toBe(6);
    const removed = await client.post(path(copy, "delete"), { predicate: "true" });
    expect(removed.json.num_deleted_rows).toBe(visible.length);
    expect(await joust.client.count(copy)).toBe(6 - visible.length);
  });
});
