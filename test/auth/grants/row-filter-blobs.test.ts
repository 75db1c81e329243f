/** Large values for a caller with a row filter. */
import { Binary, Field, Schema, Table, tableFromIPC, vectorFromArray } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { stream, tableOf, type } from "../../harness/arrow.js";
import { blobColumn } from "../../harness/blob-column.js";
import type { Answer, Client } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { setupGrants } from "./grant-callers.js";
import { FILTER, path } from "./tenants.js";

const joust = setupServer();
const granted = setupGrants(joust);

const tenants = ["a", "b", null, "a", "b", null];
const values = tenants.map((_, n) => (n === 3 ? null : new TextEncoder().encode(`value ${n}`)));
const visible = [0, 3];
const hidden = [1, 2, 4, 5];
/** No row has it. Its fragment does not exist either, if it is an address. */
const MISSING = 4_000_000_000_000;

/** Two fragments of three rows. `blob`: with Lance's blob type. */
function rows(from: number, kind: string): Uint8Array {
  const part = <T>(all: readonly T[]): T[] => all.slice(from, from + 3);
  const tenant = vectorFromArray(part(tenants), type.text);
  const images = part(values);
  if (kind === "plain") {
    return stream(tableOf({ tenant: [type.text, part(tenants)], image: [new Binary(), images] }));
  }
  const { field, vector } = blobColumn("image", images);
  const schema = new Schema([new Field("tenant", type.text, true), field]);
  return stream(new Table(schema, { tenant, image: vector }));
}

beforeAll(() => joust.client.createNamespace("f"));

describe.each(["plain", "blob"])("a value of a %s column", (kind) => {
  const name = `f$${kind}`;
  let client: Client;
  /** The row ids and addresses by row. */
  let rowIds: number[];
  let addresses: number[];

  beforeAll(async () => {
    await joust.client.createTable(name, rows(0, kind));
    await joust.client.insert(name, rows(3, kind));
    const body = { k: 10, columns: { column_names: ["_rowaddr"] }, with_row_id: true };
    const found = await joust.client.query(name, body);
    const all = (column: string) => [...(found.getChild(column) ?? [])].map(Number);
    addresses = all("_rowaddr").sort((a, b) => a - b);
    rowIds = all("_rowid").sort((a, b) => a - b);
    expect(rowIds).toHaveLength(6);
    ({ client } = await granted.filteredCaller(`table:${name}`, ["select"], FILTER));
  });

  const fetchBlobs = (ids: readonly number[], column = "image"): Promise<Answer> =>
    client.post(path(name, "fetch_blobs/"), { column, row_ids: ids });
  const bytes = (row: number, params: Record<string, string> = {}): Promise<Answer> =>
    client.request(path(name, `blob/image/${row}/bytes`), { method: "GET", params });

  it("is read if the filter shows its row", async () => {
    const answer = await fetchBlobs([3, 0, 3].map((row) => rowIds[row] as number));
    expect(answer.status).toBe(200);
    const read = [...tableFromIPC(answer.bytes)].map(({ image }) => image);
    expect(read).toEqual([3, 0, 3].map((row) => values[row]));
    const one = await bytes(rowIds[0] as number);
    expect([one.status, one.bytes]).toEqual([200, values[0]]);
    expect((await bytes(rowIds[3] as number)).status).toBe(204);
    expect((await fetchBlobs([])).status).toBe(200);
  });

  it("does not exist if the filter hides its row", async () => {
    const missing = await fetchBlobs([MISSING]);
    expectFailure(missing, 400, 13, /some of the rows do not exist/);
    const noBytes = await bytes(MISSING);
    expect(noBytes.status).toBe(400);
    for (const row of hidden) {
      const id = rowIds[row] as number;
      for (const ids of [[id], [rowIds[0] as number, id], [id, MISSING], [MISSING, id]]) {
        const answer = await fetchBlobs(ids);
        expect([row, answer.status, answer.json.detail]).toEqual([row, 400, missing.json.detail]);
      }
      const one = await bytes(id);
      expect([row, one.status, one.json.detail]).toEqual([row, 400, noBytes.json.detail]);
    }
    // The same for an old version, and for a column that does not exist.
    const old = await bytes(rowIds[1] as number, { version: "1" });
    expect([old.status, old.json.detail]).toEqual([400, noBytes.json.detail]);
    expect((await bytes(rowIds[0] as number, { version: "1" })).status).toBe(200);
    const [unknown, alsoUnknown] = await Promise.all([
      fetchBlobs([rowIds[0] as number], "nothing"),
      fetchBlobs([rowIds[1] as number], "nothing"),
    ]);
    expect(alsoUnknown.json.detail).toBe(unknown.json.detail);
  });

  it("is found by its address under the same rule", async () => {
    const byAddress = { row_is_address: "true" };
    const at = (row: number) => bytes(addresses[row] as number, byAddress);
    const noBytes = await bytes(MISSING, byAddress);
    expect(noBytes.status).toBe(400);
    for (const row of hidden) {
      const one = await at(row);
      expect([row, one.status, one.json.detail]).toEqual([row, 400, noBytes.json.detail]);
    }
    if (kind === "plain") return expect((await at(0)).status).toBe(400);
    for (const row of visible) expect((await at(row)).status).toBe(row === 3 ? 204 : 200);
  });

  it("of a caller with a grant for all rows needs no filter", async () => {
    const { client: all } = await granted.caller({ [`table:${name}`]: ["select"] });
    for (const id of rowIds) {
      const row = path(name, `blob/image/${id}/bytes`);
      expect([200, 204]).toContain((await all.request(row, { method: "GET" })).status);
    }
  });

  it("is not read where the filter does not apply", async () => {
    const other = `f$other_${kind}`;
    await joust.client.createTable(other, rows(0, kind));
    const { client: caller } = await granted.filteredCaller(`table:${other}`, ["select"], FILTER);
    await joust.client.ok(path(other, "alter_columns"), {
      alterations: [{ path: "tenant", rename: "owner" }],
    });
    const body = { column: "image", row_ids: [0] };
    const answer = await caller.post(path(other, "fetch_blobs/"), body);
    expectFailure(answer, 403, 15, /row filter of your grant does not apply/);
  });
});
