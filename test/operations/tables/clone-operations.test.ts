import { readdirSync } from "node:fs";
import { Field, Schema, Table, tableFromIPC, vectorFromArray } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { items, random, stream, type } from "../../harness/arrow.js";
import { blobColumn } from "../../harness/blob-column.js";
import { buildEachKind, listIndexes } from "../../harness/indexes.js";
import { waitForJobResult } from "../../harness/jobs.js";
import { setupServer } from "../../harness/setup-server.js";
import { waitFor } from "../../harness/wait-for.js";
import { backfillClient } from "../columns/backfill/backfill-client.js";
import { viewClient } from "../views/view-client.js";

/** Version clean-up runs all the time, on the sources and on the clones. */
const joust = setupServer({ args: ["--keep-versions", "1s"] });
const { view, refreshed, column } = viewClient(joust);
const { compute, fill, values } = backfillClient(joust);

const post = (id: string, operation: string, body?: object) =>
  joust.client.ok(`/v1/table/${id}/${operation}`, body);

async function clone(id: string, source: string): Promise<void> {
  const { location } = await post(source, "describe");
  await post(id, "clone", { source_location: location });
}

/** Replaces the rows of a source, and waits until only the version of its clone and the newest are left. */
async function overwrite(source: string): Promise<void> {
  await joust.client.createTable(source, items(1, { from: 9_000 }), { mode: "overwrite" });
  await waitFor(
    "old versions are removed",
    async () => (await post(source, "version/list")).versions.length <= 2,
    { timeoutMs: 30_000 },
  );
}

const sorted = (values: readonly unknown[]): number[] =>
  values.map(Number).sort((one, other) => one - other);
const idsOf = async (id: string): Promise<number[]> => sorted(await column(id, "id"));
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);
const found = async (id: string, body: object): Promise<number[]> =>
  [...(await joust.client.query(id, { columns: { column_names: ["id"] }, ...body }))].map((row) =>
    Number(row.id),
  );

describe("on a shallow clone of an indexed table whose source was overwritten", () => {
  const vectorOf = async (id: string, row: number): Promise<number[]> => {
    const rows = await joust.client.query(id, { vector: {}, filter: `id = ${row}` });
    return [...(rows.get(0) as unknown as { vector: Iterable<number> }).vector];
  };
  const words = (query: string) => ({ vector: {}, full_text_query: { string_query: { query } } });

  beforeAll(async () => {
    await joust.client.createTable("source", items(400));
    await buildEachKind(joust.client, "source");
    await clone("c", "source");
    await overwrite("source");
  }, 90_000);

  it("searches by vector, text and value use the indexes of the source", async () => {
    const vector = { single_vector: await vectorOf("c", 123) };
    expect((await found("c", { k: 1, vector, refine_factor: 20, nprobes: 20 }))[0]).toBe(123);
    expect(await found("c", { k: 1, ...words("item 77") })).toEqual([77]);
    expect(await found("c", { k: 5, vector: {}, filter: "id = 42" })).toEqual([42]);
    for (const index of await listIndexes(joust.client, "c")) {
      expect(index).toMatchObject({ status: "Ready", num_indexed_rows: 400 });
    }
    const plan = await joust.client.post("/v1/table/c/explain_plan", {
      query: { k: 5, vector: {}, filter: "id = 42" },
    });
    expect(plan.status).toBe(200);
    await joust.client.ok("/v1/table/c/index/name_idx/prewarm/");
    await joust.client.ok("/v1/table/c/prewarm");
  });

  it("inserts, updates, deletes and merges change the clone only", async () => {
    await joust.client.insert("c", items(20, { from: 400 }));
    await post("c", "update", { predicate: "id = 5", updates: [["name", "'zebra'"]] });
    await post("c", "delete", { predicate: "id IN (6, 7)" });
    const on = { on: "id", when_matched_update_all: "true", when_not_matched_insert_all: "true" };
    await joust.client.ok("/v1/table/c/merge_insert", items(10, { from: 415 }), on);
    const expected = range(0, 425).filter((id) => id !== 6 && id !== 7);
    expect(await idsOf("c")).toEqual(expected);
    expect(await found("c", { ...words("zebra") })).toEqual([5]);
    expect(await found("c", { k: 1, ...words("item 410") })).toEqual([410]);
    expect(await idsOf("source")).toEqual([9_000]);
  });

  it("indexes follow the rows, and compaction and clean-up leave the source alone", async () => {
    const { location } = await post("source", "describe");
    const before = readdirSync(`${location}/data`).sort();
    const [{ version: first }] = (await post("c", "version/list")).versions;
    const { job_id } = await post("c", "compact", { deletion_threshold: 0 });
    await waitForJobResult(joust.client, job_id);
    await waitFor(
      "the indexes have all rows and old versions are removed",
      async () => {
        const indexes = await listIndexes(joust.client, "c");
        const behind = indexes.filter((index) => index.num_unindexed_rows > 0);
        const { versions } = await post("c", "version/list");
        const isOld = (one: { version: number }) => one.version <= first;
        return behind.length === 0 && !versions.some(isOld);
      },
      { timeoutMs: 40_000 },
    );
    expect(readdirSync(`${location}/data`).sort()).toEqual(before);
    expect(await found("c", { ...words("zebra") })).toEqual([5]);
    expect(await joust.client.count("c")).toBe(423);
  });

  it("tags, branches, restores, statistics, SQL and multipart writes work", async () => {
    const { version } = await post("c", "describe");
    await post("c", "tags/create", { tag: "t", version });
    await post("c", "branches/create", { name: "b" });
    await joust.client.insert("c", items(3, { from: 500 }), { branch: "b" });
    expect(await joust.client.count("c", { branch: "b" })).toBe(426);
    await post("c", "delete", { predicate: "true" });
    await post("c", "restore", { version });
    expect(await joust.client.count("c")).toBe(423);
    expect((await post("c", "stats")).num_rows).toBe(423);
    const query = "SELECT count(*) AS n FROM c WHERE category = 'c0'";
    const sql = await joust.client.request("/v1/sql", { body: { query } });
    expect(sql.status).toBe(200);
    const { upload_id } = await joust.client.ok("/v1/table/c/multipart_write/create");
    await joust.client.ok("/v1/table/c/insert/", items(2, { from: 600 }), {
      upload_id,
      upload_part_id: "p",
    });
    await joust.client.ok("/v1/table/c/multipart_write/complete", undefined, { upload_id });
    expect(await joust.client.count("c")).toBe(425);
  });
});

describe("on a shallow clone", () => {
  it("the change feed returns changes of the clone after its cursor", async () => {
    await joust.client.createTable("fed", items(5));
    await clone("feed", "fed");
    await overwrite("fed");
    const changes = async (body: object) => {
      const reply = await joust.client.post("/v1/table/feed/changes", body);
      expect(reply.status).toBe(200);
      const kinds = [...tableFromIPC(reply.bytes)].map((row) => `${row._change} ${row.id}`);
      return { kinds: kinds.sort(), cursor: reply.headers.get("x-joust-cursor") };
    };
    const first = await changes({ from_version: 0 });
    expect(first.kinds).toEqual(range(0, 5).map((id) => `insert ${id}`));
    await joust.client.insert("feed", items(1, { from: 5 }));
    await post("feed", "update", { predicate: "id = 1", updates: [["price", "99"]] });
    const { kinds } = await changes({ cursor: first.cursor });
    expect(kinds).toEqual(["insert 5", "update 1"]);
  });

  it("a view is refreshed from the changed rows", async () => {
    await joust.client.createTable("seen", items(20));
    await clone("shown", "seen");
    await overwrite("seen");
    await view("small", "SELECT id, price FROM shown WHERE id < 100");
    expect(await idsOf("small")).toEqual(range(0, 20));
    await joust.client.insert("shown", items(5, { from: 20 }));
    await post("shown", "delete", { predicate: "id = 3" });
    expect(await refreshed("small")).toMatchObject({ mode: "incremental" });
    expect(await idsOf("small")).toEqual(range(0, 25).filter((id) => id !== 3));
  });

  it("computed columns are filled and refilled", async () => {
    await joust.client.createTable("computing", items(10));
    await compute("computing", "twice", "price * 2");
    await fill("computing", "twice");
    await clone("computed", "computing");
    await overwrite("computing");
    await joust.client.insert("computed", items(2, { from: 10 }));
    await fill("computed", "twice");
    await compute("computed", "long", "id + 1");
    await fill("computed", "long");
    expect((await values("computed", "twice")).get(11)).toBe(11);
    expect(Number((await values("computed", "long")).get(9))).toBe(10);
  });

  it("blobs are read, also after their rows were rewritten", async () => {
    const next = random(7);
    const noise = (length: number) => Uint8Array.from({ length }, () => Math.floor(next() * 256));
    const blobs = [noise(10), null, new Uint8Array(0), noise(100_000), noise(9_000_000)];
    const { field, vector } = blobColumn("image", blobs);
    const ids = vectorFromArray(
      blobs.map((_, n) => BigInt(n)),
      type.i64,
    );
    const schema = new Schema([new Field("id", type.i64, true), field]);
    await joust.client.createTable("album", stream(new Table(schema, { id: ids, image: vector })));
    await clone("pictures", "album");
    await clone("more_pictures", "pictures");
    await joust.client.createTable("album", items(1), { mode: "overwrite" });
    await joust.client.createTable("pictures", items(1), { mode: "overwrite" });
    for (const dropped of ["album", "pictures"]) await post(dropped, "drop");
    const read = async () => {
      const rows = await joust.client.query("more_pictures", {
        vector: {},
        columns: { column_names: ["id"] },
        with_row_id: true,
      });
      const byId = [...rows].sort((one, other) => Number(one.id) - Number(other.id));
      const row_ids = byId.map((row) => Number(row._rowid));
      const reply = await joust.client.post("/v1/table/more_pictures/fetch_blobs/", {
        version: null,
        column: "image",
        row_ids,
      });
      expect(reply.status).toBe(200);
      const values = tableFromIPC(reply.bytes).getChild("image")?.toArray() ?? [];
      return [...values];
    };
    const same = async () => {
      const found = await read();
      expect(found.length).toBe(blobs.length);
      for (const [n, blob] of blobs.entries()) {
        const value = found[n] as Uint8Array | null;
        expect(value === null ? null : Buffer.from(value).equals(Buffer.from(blob ?? []))).toBe(
          blob === null ? null : true,
        );
      }
    };
    await same();
    await post("more_pictures", "update", { predicate: "id = 4", updates: [["id", "4"]] });
    await same();
    const { job_id } = await post("more_pictures", "compact", { deletion_threshold: 0 });
    await waitForJobResult(joust.client, job_id);
    await same();
    await waitFor(
      "old versions are removed",
      async () => {
        return (await post("more_pictures", "version/list")).versions.length === 1;
      },
      { timeoutMs: 30_000 },
    );
    await same();
  }, 60_000);
});
