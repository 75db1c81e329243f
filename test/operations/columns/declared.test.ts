import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Field, Schema, Table, vectorFromArray } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { items, stream, type } from "../../harness/arrow.js";
import type { Json } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const add = (id: string, column: object) =>
  joust.client.post(`/v1/table/${id}/add_columns`, { new_columns: [column] });
const alter = (id: string, alteration: object) =>
  joust.client.post(`/v1/table/${id}/alter_columns`, { alterations: [alteration] });

const base64 = (text: string) => Buffer.from(text).toString("base64");
const sha256 = (data: string | Buffer) => createHash("sha256").update(data).digest("hex");

async function field(id: string, name: string): Promise<Json> {
  const { schema } = await joust.client.ok(`/v1/table/${id}/describe`);
  return schema.fields.find((one: Json) => one.name === name);
}

const envelope = (checksum: string) =>
  base64(JSON.stringify({ image: "i", udf_pickle: base64("a pickle"), udf_checksum: checksum }));
const manifest = '{"pip":["numpy"]}';
/** A declaration in the form of older clients. */
const declaration = {
  input_columns: ["id", "name"],
  data_type: { type: "float32" },
  image: "repo/image:1",
  udf: envelope(sha256("a pickle")),
  udf_name: "score",
  udf_version: "abc",
  udf_backend: "DockerUDFSpecV1",
  auto_backfill: false,
  manifest,
  manifest_checksum: sha256(manifest),
  field_metadata: { owner: "me" },
};

beforeAll(async () => {
  await joust.client.createTable("t", items(3));
});

describe("a computed column", () => {
  it("is null at first, has the type of its expression and stores the expression", async () => {
    const reply = await add("t", {
      name: "total",
      computed: "price * 2 + id",
      auto_refresh_enabled: true,
      auto_refresh_interval_seconds: 60,
    });
    expect(reply.json).toEqual({ version: 2, transaction_id: expect.any(String) });
    expect(await field("t", "total")).toMatchObject({
      type: { type: "float64" },
      nullable: true,
      metadata: {
        computed_column: "true",
        "computed_column.kind": "sql",
        "computed_column.expression": "price * 2 + id",
        "computed_column.inputs": '["id","price"]',
        "computed_column.auto_refresh_enabled": "true",
        "computed_column.auto_refresh_interval_seconds": "60",
      },
    });
    expect(await joust.client.count("t", { predicate: "total is null" })).toBe(3);
  });

  it("stores its refresh interval, which can be given once for the whole request", async () => {
    const body = {
      new_columns: [
        { name: "twice", computed: "price * 2" },
        { name: "thrice", computed: "price * 3", auto_refresh_interval_seconds: 5 },
      ],
      auto_refresh_enabled: false,
      auto_refresh_interval_seconds: 90,
    };
    await joust.client.createTable("often", items(3));
    await joust.client.ok("/v1/table/often/add_columns/", body);
    for (const [name, seconds] of [
      ["twice", "90"],
      ["thrice", "5"],
    ] as const) {
      expect((await field("often", name)).metadata).toMatchObject({
        "computed_column.kind": "sql",
        "computed_column.auto_refresh_enabled": "false",
        "computed_column.auto_refresh_interval_seconds": seconds,
      });
    }
  });

  it.each(["", "/"])("of a registered function is not supported (path%s)", async (slash) => {
    // The SDKs send the function beside the columns.
    const body = {
      new_columns: [{ name: "f", all_null: true }],
      auto_refresh_enabled: true,
      function: { application: {}, outputs: [] },
    };
    const reply = await joust.client.post(`/v1/table/t/add_columns${slash}`, body);
    expectFailure(reply, 406, 0, /registered functions/);
  });

  it.each<[string, string, number, number, RegExp]>([
    ["an unknown column", "nope * 2", 404, 12, /nope/],
    ["a broken expression", "1 +", 400, 13, /expression/],
    ["an aggregate", "count(id)", 400, 13, /./],
    ["an unknown function", "pickle(id)", 400, 13, /pickle/],
  ])("is rejected for %s", async (_, computed, status, code, detail) => {
    expectFailure(await add("t", { name: "c", computed }), status, code, detail);
    expect(await field("t", "c")).toBeUndefined();
  });
});

describe("a virtual column", () => {
  it("is not declared by the schema of uploaded rows", async () => {
    const declared = { virtual_column: "true", "virtual_column.udf_name": "evil", owner: "me" };
    const fields = [new Field("id", type.i64, true, new Map(Object.entries(declared)))];
    const upload = stream(new Table(new Schema(fields), { id: vectorFromArray([1n], type.i64) }));
    await joust.client.createTable("uploaded", upload);
    expect((await field("uploaded", "id")).metadata).toEqual({ owner: "me" });
    await joust.client.createTable("uploaded", upload, { mode: "overwrite" });
    expect((await field("uploaded", "id")).metadata).toEqual({ owner: "me" });
    const added = stream(
      new Table(new Schema([new Field("x", type.i64, true, new Map(Object.entries(declared)))]), {
        x: vectorFromArray([], type.i64),
      }),
    );
    expect((await joust.client.post("/v1/table/uploaded/add_columns", added)).status).toBe(200);
    expect((await field("uploaded", "x")).metadata).toEqual({ owner: "me" });
  });

  it("is null and stores its declaration and the payload of its function", async () => {
    await joust.client.createTable("old", items(3));
    const reply = await add("old", { name: "score", virtual_column: declaration });
    expect(reply.json).toEqual({ version: 2, transaction_id: expect.any(String) });
    const payload = Buffer.from(declaration.udf, "base64");
    const { type: declaredType, metadata } = await field("old", "score");
    expect(declaredType).toEqual({ type: "float32" });
    expect(metadata).toEqual({
      owner: "me",
      virtual_column: "true",
      "virtual_column.udf": `_udfs/${sha256(payload)}`,
      "virtual_column.udf_name": "score",
      "virtual_column.udf_version": "abc",
      "virtual_column.udf_backend": "DockerUDFSpecV1",
      "virtual_column.udf_inputs": '["id","name"]',
      "virtual_column.image": "repo/image:1",
      "virtual_column.auto_backfill": "false",
      "virtual_column.manifest": manifest,
      "virtual_column.manifest_checksum": sha256(manifest),
    });
    const kept = `${joust.root}/old.lance/${metadata["virtual_column.udf"]}`;
    expect(readFileSync(kept)).toEqual(payload);
    expect(await joust.client.count("old", { predicate: "score is null" })).toBe(3);
  });

  it("may have its function as Python source", async () => {
    await joust.client.createTable("source", items(3));
    const python = { source: "def f(id): return id", entry: "f", requirements: ["numpy>=1.26"] };
    const column = { input_columns: ["id"], data_type: "int64", python };
    expect((await add("source", { name: "v", virtual_column: column })).status).toBe(200);
    const payload = JSON.stringify(python);
    const { metadata } = await field("source", "v");
    expect(metadata).toEqual({
      virtual_column: "true",
      "virtual_column.udf": `_udfs/${sha256(payload)}`,
      "virtual_column.udf_name": "f",
      "virtual_column.udf_backend": "PythonSource",
      "virtual_column.udf_inputs": '["id"]',
    });
    const stored = `${joust.root}/source.lance/${metadata["virtual_column.udf"]}`;
    expect(readFileSync(stored, "utf8")).toBe(payload);
    const versioned = { udf_version: "7", manifest };
    expect((await alter("source", { path: "v", virtual_column: versioned })).status).toBe(200);
    const change = { python: { source: "def g(id): return 1", entry: "g" } };
    expect((await alter("source", { path: "v", virtual_column: change })).status).toBe(200);
    const changed = (await field("source", "v")).metadata;
    expect(changed).toEqual({
      ...metadata,
      "virtual_column.udf": expect.not.stringContaining(metadata["virtual_column.udf"]),
      "virtual_column.udf_name": "g",
    });
    const update = { path: "v", metadata: { owner: "me" }, replace: true };
    await joust.client.ok("/v1/table/source/update_field_metadata", { updates: [update] });
    expect((await field("source", "v")).metadata).toEqual({ ...changed, owner: "me" });
    const both = { ...column, udf: base64("a pickle"), udf_name: "f" };
    const refused = await add("source", { name: "w", virtual_column: both });
    expectFailure(refused, 400, 13, /python cannot be set together with udf/);
    const none = await add("source", { name: "w", virtual_column: { ...column, python: null } });
    expectFailure(none, 400, 13, /needs python, or udf and udf_name/);
  });

  it("may have several outputs, as newer clients declare it", async () => {
    await joust.client.createTable("new", items(3));
    const { data_type: _, ...rest } = declaration;
    const outputs = [
      {
        column: "low",
        struct_field: "l",
        data_type: { type: "int64" },
        nullable: true,
        metadata: { a: "1" },
      },
      { column: "high", struct_field: "h", data_type: { type: "utf8" }, nullable: true },
    ];
    const reply = await add("new", { name: "range", virtual_column: { ...rest, outputs } });
    expect(reply.json).toEqual({ version: 2, transaction_id: expect.any(String) });
    expect(await field("new", "low")).toMatchObject({
      type: { type: "int64" },
      metadata: { a: "1", virtual_column: "true", "virtual_column.struct_field": "l" },
    });
    expect((await field("new", "high")).type).toEqual({ type: "utf8" });
    expect(await field("new", "range")).toBeUndefined();
  });

  it("can be redeclared only with a valid change", async () => {
    await joust.client.createTable("changing", items(3));
    await add("changing", { name: "v", virtual_column: declaration });
    const change = { udf: base64("another"), udf_version: "def", input_columns: ["price"] };
    expect((await alter("changing", { path: "v", virtual_column: change })).json).toEqual({
      version: 3,
      transaction_id: expect.any(String),
    });
    expect((await field("changing", "v")).metadata).toMatchObject({
      owner: "me",
      virtual_column: "true",
      "virtual_column.udf": `_udfs/${sha256("another")}`,
      "virtual_column.udf_version": "def",
      "virtual_column.udf_name": "score",
      "virtual_column.udf_inputs": '["price"]',
    });
    expectFailure(
      await alter("changing", { path: "id", virtual_column: change }),
      400,
      13,
      /not a virtual/,
    );
    expectFailure(
      await alter("changing", { path: "nope", virtual_column: change }),
      404,
      12,
      /nope/,
    );
    const inputs = { input_columns: ["nope"] };
    expectFailure(await alter("changing", { path: "v", virtual_column: inputs }), 404, 12, /nope/);
    const both = { path: "v", rename: "w", virtual_column: change };
    expectFailure(await alter("changing", both), 400, 13, /two requests/);
  });

  const output = { column: "o", struct_field: "s", data_type: { type: "int64" }, nullable: false };
  it.each<[string, object, number, number, RegExp]>([
    ["an unknown input", { input_columns: ["nope"] }, 404, 12, /nope/],
    ["an unknown type", { data_type: { type: "money" } }, 400, 13, /money/],
    ["no type", { data_type: null }, 400, 13, /outputs or a data_type/],
    [
      "a type and outputs",
      { outputs: [{ ...output, nullable: true }] },
      400,
      13,
      /outputs or a data_type/,
    ],
    ["an output that is never null", { data_type: null, outputs: [output] }, 400, 13, /nullable/],
    [
      "another manifest's checksum",
      { manifest_checksum: sha256("x") },
      400,
      13,
      /manifest_checksum/,
    ],
    ["a checksum of no manifest", { manifest: null }, 400, 13, /manifest/],
    ["another pickle's checksum", { udf: envelope(sha256("x")) }, 400, 13, /udf_checksum/],
    ["a payload that is not base64", { udf: "not base64!" }, 400, 13, /base64/],
    ["no payload", { udf: undefined }, 400, 13, /udf/],
    ["no name", { udf_name: undefined }, 400, 13, /udf_name/],
  ])("is rejected because of %s", async (_, change, status, code, detail) => {
    const reply = await add("t", { name: "v", virtual_column: { ...declaration, ...change } });
    expectFailure(reply, status, code, detail);
    expect(await field("t", "v")).toBeUndefined();
  });
});
