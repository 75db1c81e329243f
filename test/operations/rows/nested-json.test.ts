import {
  type DataType,
  Field,
  Int64,
  LargeBinary,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();

const jsonText = new Map([["ARROW:extension:name", "arrow.json"]]);
const stored = new Map([["ARROW:extension:name", "lance.json"]]);
const nested = (depth: number, open = "[", close = "]") => open.repeat(depth) + close.repeat(depth);

/** Rows with an id and a JSON column. */
function documents(
  values: readonly (string | Uint8Array)[],
  form = jsonText,
  kind?: DataType,
): Uint8Array {
  const type = kind ?? new Utf8();
  const fields = [new Field("id", new Int64(), true), new Field("j", type, true, form)];
  const ids = values.map((_, row) => BigInt(row));
  const columns = { id: vectorFromArray(ids, new Int64()), j: vectorFromArray(values, type) };
  return tableToIPC(new Table(new Schema(fields), columns), "stream");
}

/** Nested arrays in Lance's JSONB: a header and the length of the content for each. */
function jsonb(depth: number): Uint8Array {
  const bytes = Buffer.alloc(8 * depth - 4);
  for (let level = 0; level < depth; level++) {
    const last = level === depth - 1;
    bytes.writeUInt32BE(0x80000000 + (last ? 0 : 1), 8 * level);
    if (!last) bytes.writeUInt32BE(0x50000000 + bytes.length - 8 * (level + 1), 8 * level + 4);
  }
  return bytes;
}

const upload = (path: string, body: Uint8Array, params: Record<string, string> = {}) =>
  joust.client.post(`/v1/table/${path}`, body, params);
const merge = { on: "id", when_matched_update_all: "true", when_not_matched_insert_all: "true" };

beforeAll(async () => {
  await joust.client.createTable("docs", documents(['{"a": 1}', nested(128)]));
});

describe("JSON that is too deeply nested", () => {
  it.each<[string, string, Record<string, string>]>([
    ["create", "deep/create", {}],
    ["overwriting create", "docs/create", { mode: "overwrite" }],
    ["insert", "docs/insert", {}],
    ["overwriting insert", "docs/insert", { mode: "overwrite" }],
    ["merge", "docs/merge_insert", merge],
  ])("is rejected by %s", async (_, path, params) => {
    for (const value of [
      nested(129),
      nested(1_000_000),
      `[${'{"a":'.repeat(500_000)}1${"}".repeat(500_000)}]`,
      `['"', ${nested(200)}]`,
    ]) {
      const answer = await upload(path, documents(["{}", value]), params);
      expectFailure(answer, 400, 13, /column `j` has a JSON value with more than 128 arrays/);
    }
    for (const value of [jsonb(129), jsonb(1_000_000)]) {
      const body = documents([value], stored, new LargeBinary());
      expectFailure(await upload(path, body, params), 400, 13, /more than 128/);
    }
    expect(await joust.client.count("docs")).toBe(2);
  });

  it("is rejected within a struct", async () => {
    const row = new Struct([new Field("j", new Utf8(), true, jsonText)]);
    const column = vectorFromArray([{ j: nested(200) }], row);
    const table = new Table(new Schema([new Field("s", row, true)]), { s: column });
    expectFailure(await upload("within/create", tableToIPC(table, "stream")), 400, 13, /`s` has/);
  });

  it("is rejected in a part of a multipart write", async () => {
    const { client } = joust;
    const { upload_id } = await client.ok("/v1/table/docs/multipart_write/create");
    const part = await upload("docs/insert/", documents([nested(200)]), { upload_id });
    expectFailure(part, 400, 13, /more than 128/);
  });

  it("is rejected as JSONB without an extension name", async () => {
    const body = documents([jsonb(1_000_000)], new Map(), new LargeBinary());
    const answer = await upload("docs/insert", body);
    expect(answer.status, answer.text).toBe(400);
    const { client } = joust;
    expect((await client.query("docs", { k: 10, vector: {} })).numRows).toBe(2);
  });

  it("is accepted in a plain text column", async () => {
    const { client } = joust;
    await client.createTable("plain", documents([nested(5_000)], new Map()));
    const rows = await client.query("plain", { k: 1, vector: {} });
    expect(rows.get(0)?.j).toBe(nested(5_000));
  });
});

describe("an update of a JSON column", () => {
  it("accepts computed JSON text and no other value", async () => {
    const { client } = joust;
    const schema = new Schema([
      new Field("id", new Int64(), true),
      new Field("j", new Utf8(), true, jsonText),
      new Field("s", new Utf8(), true),
    ]);
    const texts = ['{"b": 2}', nested(200), nested(1_000_000)];
    const columns = {
      id: vectorFromArray([0n, 1n, 2n], new Int64()),
      j: vectorFromArray(["1", "1", "1"], new Utf8()),
      s: vectorFromArray(texts, new Utf8()),
    };
    await client.createTable("set", tableToIPC(new Table(schema, columns), "stream"));
    const set = (value: string, predicate: string) =>
      client.post("/v1/table/set/update", { updates: [["j", value]], predicate });
    for (const [value, predicate, wording] of [
      ["s", "id = 1", /more than 128/],
      ["s", "id = 2", /more than 128/],
      ["concat(s, '')", "id = 2", /more than 128/],
      [`'${nested(129)}'`, "id = 0", /./],
      ["arrow_cast(s, 'LargeBinary')", "id = 1", /./],
    ] as const) {
      expectFailure(await set(value, predicate), 400, 13, wording);
    }
    expect((await set("s", "id = 0")).status).toBe(200);
    expect((await set("'[3]'", "id = 1")).status).toBe(200);
    expect((await set("NULL", "id = 2")).status).toBe(200);
    const rows = await client.query("set", { k: 10, vector: {}, columns: ["id", "j"] });
    const read = rows.toArray().map((row) => [Number(row.id), row.j]);
    expect(read.sort()).toEqual([
      [0, '{"b":2}'],
      [1, "[3]"],
      [2, null],
    ]);
  });
});

describe("JSON within the limit", () => {
  it("can be written, read, searched and updated", async () => {
    const { client } = joust;
    const deep = nested(127, '{"a":', "}").replace(":}", ":[]}");
    await client.createTable("fits", documents([nested(128), deep, `"${"[".repeat(500)}"`]));
    const rows = await client.query("fits", { k: 10, vector: {} });
    expect(rows.toArray().map((row) => row.j)).toEqual([nested(128), deep, `"${"[".repeat(500)}"`]);
    expect(await client.count("fits", { predicate: "json_exists(j, '$.a.a')" })).toBe(1);
  });

  it("must be valid JSONB in a JSONB column", async () => {
    const broken = Uint8Array.from([0x9f, 0xff, 0xff, 0xff]);
    const body = documents([broken], stored, new LargeBinary());
    expectFailure(await upload("docs/insert", body), 400, 13, /not JSONB/);
  });
});
