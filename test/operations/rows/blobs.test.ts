import { pathToFileURL } from "node:url";
import {
  Binary,
  Field,
  LargeBinary,
  Schema,
  Table,
  tableFromIPC,
  vectorFromArray,
} from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { random, stream, tableOf, type } from "../../harness/arrow.js";
import { blobColumn } from "../../harness/blob-column.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { textIndex } from "../queries/text/text-tables.js";

const joust = setupServer();

/** Incompressible bytes. */
function noise(length: number, seed = 1): Uint8Array {
  const next = random(seed);
  return Uint8Array.from({ length }, () => Math.floor(next() * 256));
}

const large = noise(9_000_000);
const values: (Uint8Array | null)[] = [
  new TextEncoder().encode("hello"),
  null,
  new Uint8Array(0),
  noise(100_000, 2),
  large,
];

/** A column with Lance's blob type. */
function blobTable(named = false): Uint8Array {
  const { field, vector } = blobColumn("image", values);
  const ids = vectorFromArray(
    values.map((_, n) => BigInt(n)),
    type.i64,
  );
  const schema = new Schema([
    new Field("id", type.i64, true),
    field,
    ...(named ? [new Field("name", type.text, true)] : []),
  ]);
  const names = values.map((_, n) => `n${n}`);
  const columns = { id: ids, image: vector };
  return stream(
    named
      ? new Table(schema, { ...columns, name: vectorFromArray(names, type.text) })
      : new Table(schema, columns),
  );
}

const plainTable = (): Uint8Array =>
  stream(
    tableOf({
      id: [type.i64, values.map((_, n) => BigInt(n))],
      image: [new Binary(), values],
      name: [type.text, values.map((_, n) => `n${n}`)],
    }),
  );

const fetchBlobs = (id: string, body: object) =>
  joust.client.post(`/v1/table/${id}/fetch_blobs/`, { version: null, ...body });
const bytes = (id: string, row: number | string, range?: string, params?: Record<string, string>) =>
  joust.client.request(`/v1/table/${id}/blob/image/${row}/bytes`, {
    method: "GET",
    ...(range && { headers: { range } }),
    ...(params && { params }),
  });

beforeAll(async () => {
  await joust.client.createTable("plain", plainTable());
  await joust.client.createTable("blobs", blobTable());
});

describe("a blob column in search results", () => {
  it("has the same type for every kind of search", async () => {
    const { client } = joust;
    await client.createTable("searched", blobTable(true));
    await textIndex(client, "searched", { column: "name" });
    const columns = ["id", "image"];
    const field = async (query: object): Promise<Field> => {
      const body = { version: null, prefilter: true, k: 10, columns, with_row_id: true, ...query };
      const reply = await client.post("/v1/table/searched/query/", body);
      const result = tableFromIPC(reply.bytes).schema.fields.find(({ name }) => name === "image");
      return result as Field;
    };
    const scanned = await field({ vector: [] });
    const byText = await field({ vector: [], full_text_query: { columns: [], query: "n0" } });
    expect(String(byText.type)).toBe(String(scanned.type));
    // The descriptor is not the form that clients write, so it has no extension type.
    expect(byText.metadata.get("ARROW:extension:name")).toBeUndefined();
    expect([...byText.metadata]).toEqual([...scanned.metadata]);
  });
});

describe.each(["plain", "blobs"])("blob values of table %s", (id) => {
  it("are returned completely in the order of the requested rows", async () => {
    const row_ids = [3, 0, 1, 2, 0];
    const reply = await fetchBlobs(id, { column: "image", row_ids });
    expect(reply.status).toBe(200);
    expect(reply.headers.get("content-type")).toBe("application/vnd.apache.arrow.stream");
    const table = tableFromIPC(reply.bytes);
    expect(table.schema.names).toEqual(["image"]);
    expect([...table].map((row) => row.image)).toEqual(row_ids.map((row) => values[row]));
  });

  it("are returned by exact byte ranges", async () => {
    for (const [range, start, end] of [
      ["bytes=0-0", 0, 1],
      ["bytes=10-19", 10, 20],
      ["bytes=8999990-", 8_999_990, 9_000_000],
      ["bytes=-7", 8_999_993, 9_000_000],
      ["bytes=8999999-99999999", 8_999_999, 9_000_000],
      ["bytes=0-", 0, 9_000_000],
      ["bytes=4194303-8388609", 4_194_303, 8_388_610],
    ] as const) {
      const reply = await bytes(id, 4, range);
      expect([range, reply.status]).toEqual([range, 206]);
      expect(reply.headers.get("content-range")).toBe(`bytes ${start}-${end - 1}/9000000`);
      expect(reply.headers.get("content-length")).toBe(String(end - start));
      expect(reply.headers.get("x-lancedb-version")).toBe("1");
      expect(Buffer.compare(reply.bytes, large.subarray(start, end))).toBe(0);
    }
  });

  it("have a size that a one-byte range, HEAD and a full read report", async () => {
    const missing = await bytes(id, 1, "bytes=0-0");
    expect([missing.status, missing.bytes.length]).toEqual([204, 0]);
    expect(missing.headers.get("x-lancedb-version")).toBe("1");
    const empty = await bytes(id, 2, "bytes=0-0");
    expect([empty.status, empty.headers.get("content-range")]).toEqual([416, "bytes */0"]);
    const beyond = await bytes(id, 0, "bytes=5-6");
    expect([beyond.status, beyond.headers.get("content-range")]).toEqual([416, "bytes */5"]);
    const head = await joust.client.request(`/v1/table/${id}/blob/image/4/bytes`, {
      method: "HEAD",
    });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, "9000000"]);
    expect(head.headers.get("accept-ranges")).toBe("bytes");
    const whole = await bytes(id, 0);
    expect([whole.status, whole.text]).toEqual([200, "hello"]);
    expect((await bytes(id, 2)).status).toBe(200);
  });

  it("can be read concurrently", async () => {
    const ranges = Array.from({ length: 40 }, (_, n) => [n * 200_000, n * 200_000 + 150_000]);
    await Promise.all(
      ranges.map(async ([start = 0, end = 0]) => {
        const reply = await bytes(id, 4, `bytes=${start}-${end - 1}`);
        expect(Buffer.compare(reply.bytes, large.subarray(start, end))).toBe(0);
      }),
    );
  });

  it("reach a client that pauses, and a client that disconnects does no harm", async () => {
    const open = () => joust.client.open(`/v1/table/${id}/blob/image/4/bytes`, { method: "GET" });
    const reader = (await open()).body?.getReader();
    const parts: Uint8Array[] = [];
    for (let at = 0; ; at++) {
      const { done, value } = (await reader?.read()) ?? { done: true };
      if (done || !value) break;
      parts.push(value);
      // The first pause is longer than the interval of the socket timeout check.
      if (at < 3) await new Promise((resolve) => setTimeout(resolve, at === 0 ? 5_000 : 100));
    }
    expect(Buffer.compare(Buffer.concat(parts), large)).toBe(0);
    const left = (await open()).body?.getReader();
    await left?.read();
    await left?.cancel();
    expect((await bytes(id, 0)).text).toBe("hello");
  });

  it("are rejected with a cause for invalid requests", async () => {
    expectFailure(await fetchBlobs(id, { column: "none", row_ids: [0] }), 400, 12, /none/);
    expectFailure(await fetchBlobs(id, { column: "id", row_ids: [0] }), 400, 13, /binary/);
    expectFailure(await fetchBlobs(id, { column: "image", row_ids: [999] }), 400, 13, /row/);
    expectFailure(await fetchBlobs(id, { column: "image", row_ids: [-1] }), 400, 13, /row_ids/);
    const many = Array.from({ length: 1025 }, () => 0);
    expectFailure(await fetchBlobs(id, { column: "image", row_ids: many }), 400, 13, /1024/);
    expectFailure(await fetchBlobs(id, { column: "image", row_ids: [0], version: 9 }), 404, 11);
    expectFailure(await fetchBlobs(id, { column: "image", row_ids: [0], branch: "no" }), 404, 22);
    expectFailure(await fetchBlobs("missing", { column: "image", row_ids: [0] }), 404, 4);
    expectFailure(await bytes(id, 999, "bytes=0-0"), 400, 13, /row/);
    expectFailure(await bytes(id, "x"), 400, 13, /row id/);
    expectFailure(await bytes(id, "18446744073709551615"), 400, 13, /row id/);
    for (const range of ["bytes=5-1", "bytes=-", "items=0-1", "bytes=0-1,3-4"]) {
      expectFailure(await bytes(id, 0, range), 400, 13, /Range header/);
    }
    const elsewhere = { source_uri: "file:///etc/passwd" };
    expectFailure(await bytes(id, 0, "bytes=0-0", elsewhere), 400, 13, /source_uri/);
  });

  it("are rejected with the SDKs' expected message if they are too large together", async () => {
    const row_ids = Array(20).fill(4);
    const reply = await fetchBlobs(id, { column: "image", row_ids });
    expectFailure(reply, 400, 13, /fetch_blobs accepts at most \d+ total blob bytes/);
    expect((await fetchBlobs(id, { column: "image", row_ids: row_ids.slice(10) })).status).toBe(
      200,
    );
  });
});

describe.each([
  ["plain", new Binary()],
  ["large", new LargeBinary()],
])("rows requested repeatedly (%s)", (id, form) => {
  const [mega, other] = [noise(1_000_000, 3), noise(1_000_000, 4)];
  const fetched = (row_ids: number[]) => fetchBlobs(`named_${id}`, { column: "v", row_ids });

  beforeAll(async () => {
    const v = [mega, other, new Uint8Array([7]), null, new Uint8Array([8, 9])];
    const rows = { id: [type.i64, v.map((_, n) => BigInt(n))], v: [form, v] } as const;
    await joust.client.createTable(`named_${id}`, stream(rows));
  });

  it("count each time against the size limit", async () => {
    const reply = await fetched(Array(200).fill(0));
    expectFailure(reply, 400, 13, /fetch_blobs accepts at most \d+ total blob bytes/);
    const mixed = Array.from({ length: 1024 }, (_, n) => n % 5);
    expectFailure(await fetched(mixed), 400, 13, /ask for fewer rows/);
    expect((await fetched(Array(100).fill(1))).status).toBe(200);
  });

  it("are returned in the requested order", async () => {
    const row_ids = Array.from({ length: 1000 }, (_, n) => [2, 4, 3, 4][n % 4] as number);
    const reply = await fetched([1, ...row_ids, 0]);
    expect(reply.status).toBe(200);
    const rows = [...tableFromIPC(reply.bytes)].map((row) => row.v as Uint8Array | null);
    expect(rows).toHaveLength(1002);
    expect(Buffer.compare(rows[0] as Uint8Array, other)).toBe(0);
    expect(Buffer.compare(rows[1001] as Uint8Array, mega)).toBe(0);
    const small = rows.slice(1, -1).map((value) => value && [...value]);
    const named: Record<number, number[] | null> = { 2: [7], 3: null, 4: [8, 9] };
    expect(small).toEqual(row_ids.map((row) => named[row]));
  });
});

describe("blob values of other versions", () => {
  it("are read from the requested version and branch", async () => {
    const { client } = joust;
    await client.createTable("states", plainTable());
    await client.ok("/v1/table/states/branches/create", { name: "dev" });
    await client.ok("/v1/table/states/update", {
      updates: [["image", "X'414243'"]],
      predicate: "id = 0",
    });
    const row = [
      ...(await client.query("states", { k: 1, vector: {}, filter: "id = 0", with_row_id: true })),
    ];
    const id = Number(row[0]?._rowid);
    expect((await bytes("states", id)).text).toBe("ABC");
    expect((await bytes("states", 0, undefined, { version: "1" })).text).toBe("hello");
    expect((await bytes("states", 0, undefined, { branch: "dev" })).text).toBe("hello");
    const old = await fetchBlobs("states", { column: "image", row_ids: [0], version: 1 });
    expect(old.headers.get("x-lancedb-version")).toBe("1");
  });

  it("are descriptors in query results and can be read by row address", async () => {
    const query = { k: 10, vector: [], columns: ["id", "image", "_rowaddr"], with_row_id: true };
    const reply = await joust.client.post("/v1/table/blobs/query/", query);
    const rows = [...tableFromIPC(reply.bytes)];
    const sizes = rows.map((row) => (row.image === null ? null : Number(row.image.size)));
    expect(sizes).toEqual(values.map((value) => value?.length ?? null));
    expect(rows[0]?.image.kind).toEqual(expect.any(Number));
    const address = String(rows[4]?._rowaddr);
    const result = await bytes("blobs", address, "bytes=5-9", { row_is_address: "true" });
    expect(Buffer.compare(result.bytes, large.subarray(5, 10))).toBe(0);
  });

  it("can be read with the descriptor that SQL of a LanceDB client returns", async () => {
    const { client } = joust;
    const { location } = await client.createTable("source table", blobTable());
    const path = "/v1/table/source%20table";
    await client.ok(`${path}/branches/create`, { name: "dev/one" });
    const version = "1";
    const lengthOf = (params: Record<string, string>) =>
      client.request(`${path}/blob/image/0/bytes`, {
        method: "HEAD",
        params: { version, row_is_address: "true", ...params },
      });
    const main = [location, pathToFileURL(location).href];
    const branch = main.map((uri) => `${uri}/tree/dev/one`);
    const onBranch = { branch: "dev/one" };
    const sources = [
      ...main.map((source_uri) => ({ source_uri })),
      ...branch.map((source_uri) => ({ source_uri, ...onBranch })),
    ];
    for (const source of sources) {
      const { status, headers } = await lengthOf(source);
      expect([source, status, headers.get("content-length")]).toEqual([source, 200, "5"]);
    }
    // The URI of another branch.
    const [source_uri = ""] = branch;
    expect((await lengthOf({ source_uri })).status).toBe(400);
    expect((await lengthOf({ source_uri: location, ...onBranch })).status).toBe(400);

    const described = await client.ok(`${path}/version/describe`, { version: 1 });
    const micros = described.version.timestamp_millis * 1_000 + 999;
    const source_commit_micros = String(micros);
    expect((await lengthOf({ source_commit_micros })).status).toBe(200);
    expect((await lengthOf({ source_commit_micros: String(micros - 1_000) })).status).toBe(400);
    await client.createTable("source table", blobTable(), { mode: "overwrite" });
    await client.ok(`${path}/drop`);
    await client.createTable("source table", blobTable());
    expect((await lengthOf({ source_commit_micros })).status).toBe(400);
    const reply = await client.request(`${path}/blob/image/0/bytes`, {
      method: "GET",
      params: { version, source_commit_micros },
    });
    expectFailure(reply, 400, 13, /source_commit_micros/);
  });
});
