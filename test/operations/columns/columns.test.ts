import { beforeAll, describe, expect, it } from "vitest";
import { items, stream, type } from "../../harness/arrow.js";
import type { Json } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const post = (id: string, operation: string, body: object) =>
  joust.client.post(`/v1/table/${id}/${operation}`, body);

/** Type names by column. */
async function types(id: string): Promise<Record<string, string>> {
  const { schema } = await joust.client.ok(`/v1/table/${id}/describe`);
  return Object.fromEntries(schema.fields.map((field: Json) => [field.name, field.type.type]));
}
const before = {
  id: "int64",
  name: "utf8",
  category: "utf8",
  price: "float64",
  vector: "fixed_size_list",
};

beforeAll(async () => {
  await joust.client.createTable("refusing", items(4));
});

describe("add_columns", () => {
  it("computes the new columns once from their expressions", async () => {
    await joust.client.createTable("filled", items(4));
    const reply = await post("filled", "add_columns", {
      new_columns: [
        { name: "twice", expression: "price * 2" },
        { name: "upper", expression: "upper(name)", virtual_column: null, computed: null },
      ],
    });
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({ version: 2, transaction_id: expect.any(String) });
    expect(await types("filled")).toEqual({ ...before, twice: "float64", upper: "utf8" });
    expect(
      await joust.client.count("filled", { predicate: "twice = id and upper = 'ITEM 3'" }),
    ).toBe(1);
    await joust.client.insert("filled", items(1, { from: 9 }));
    expect(await joust.client.count("filled", { predicate: "twice is null" })).toBe(1);
  });

  it.each<[string, object, number, number, RegExp]>([
    [
      "an unknown column",
      { new_columns: [{ name: "a", expression: "nope + 1" }] },
      404,
      12,
      /nope/,
    ],
    [
      "a broken expression",
      { new_columns: [{ name: "a", expression: "1 +" }] },
      400,
      13,
      /expression/,
    ],
    [
      "an expression with trailing text",
      { new_columns: [{ name: "a", expression: "1; x" }] },
      400,
      13,
      /./,
    ],
    ["a taken name", { new_columns: [{ name: "price", expression: "1" }] }, 400, 13, /price/],
    [
      "a name twice",
      {
        new_columns: [
          { name: "a", expression: "1" },
          { name: "a", expression: "2" },
        ],
      },
      400,
      13,
      /`a`/,
    ],
    ["a name with a dot", { new_columns: [{ name: "a.b", expression: "1" }] }, 400, 13, /dot/],
    ["a column without a definition", { new_columns: [{ name: "a" }] }, 400, 13, /exactly one/],
    [
      "a column with two definitions",
      { new_columns: [{ name: "a", expression: "1", computed: "2" }] },
      400,
      13,
      /exactly one/,
    ],
    ["no columns", { new_columns: [] }, 400, 13, /new_columns/],
    ["nothing", {}, 400, 13, /new_columns/],
    ["no name", { new_columns: [{ expression: "1" }] }, 400, 13, /name/],
    [
      "a registered function",
      { new_columns: [{ name: "a", all_null: true, function: {} }] },
      406,
      0,
      /function/,
    ],
    [
      "an unknown branch",
      { new_columns: [{ name: "a", expression: "1" }], branch: "dev" },
      404,
      22,
      /dev/,
    ],
  ])("rejects %s", async (_, body, status, code, detail) => {
    expectFailure(await post("refusing", "add_columns", body), status, code, detail);
    expect(await types("refusing")).toEqual(before);
  });
});

describe("alter_columns", () => {
  it("renames and casts in one commit and changes nullability", async () => {
    await joust.client.createTable("altered", items(4));
    const reply = await post("altered", "alter_columns", {
      alterations: [
        { path: "price", rename: "cost", data_type: { type: "float32" }, nullable: null },
        { path: "name", rename: "title" },
      ],
    });
    expect(reply.json).toEqual({ version: 2, transaction_id: expect.any(String) });
    const { price: _, name: __, ...rest } = before;
    expect(await types("altered")).toEqual({ ...rest, title: "utf8", cost: "float32" });
    const never = [{ path: "title", nullable: false }];
    expect((await post("altered", "alter_columns", { alterations: never })).status).toBe(200);
    const { schema } = await joust.client.ok("/v1/table/altered/describe");
    expect(schema.fields.find((field: Json) => field.name === "title").nullable).toBe(false);
    expect(await joust.client.count("altered", { predicate: "cost = 1.5" })).toBe(1);
  });

  it.each<[string, object, number, number, RegExp]>([
    ["an unknown column", { path: "nope", rename: "a" }, 404, 12, /nope/],
    ["a taken name", { path: "price", rename: "name" }, 400, 13, /`name` already/],
    ["an unknown type", { path: "price", data_type: { type: "money" } }, 400, 13, /money/],
    ["an impossible cast", { path: "name", data_type: { type: "int64" } }, 400, 13, /name/],
    ["nothing to change", { path: "price" }, 400, 13, /nothing/],
    ["no path", { rename: "a" }, 400, 13, /path/],
  ])("returns an error for %s", async (_, alteration, status, code, detail) => {
    const reply = await post("refusing", "alter_columns", { alterations: [alteration] });
    expectFailure(reply, status, code, detail);
    expect(await types("refusing")).toEqual(before);
  });

  it("rejects an empty request and a non-null column with nulls", async () => {
    expectFailure(await post("refusing", "alter_columns", {}), 400, 13, /alterations/);
    expectFailure(await post("refusing", "alter_columns", { alterations: [] }), 400, 13);
    await joust.client.createTable("gaps", stream({ a: [type.i32, [1, null]] }));
    const reply = await post("gaps", "alter_columns", {
      alterations: [{ path: "a", nullable: false }],
    });
    expectFailure(reply, 400, 13, /null/);
  });
});

describe("drop_columns", () => {
  it("drops columns together with their indexes", async () => {
    await joust.client.createTable("dropped", items(4));
    for (const column of ["id", "price"]) {
      await joust.client.ok("/v1/table/dropped/create_scalar_index", {
        column,
        index_type: "BTREE",
      });
    }
    const indexes = async () =>
      (await joust.client.ok("/v1/table/dropped/index/list")).indexes
        .filter((index: Json) => index.status === "Ready")
        .map((index: Json) => index.index_name);
    await expect.poll(indexes).toEqual(["id_idx", "price_idx"]);
    const reply = await post("dropped", "drop_columns", { columns: ["price", "vector"] });
    expect(reply.status).toBe(200);
    expect(reply.headers.get("x-lancedb-version")).toBe(String(reply.json.version));
    expect(await types("dropped")).toEqual({ id: "int64", name: "utf8", category: "utf8" });
    expect(await indexes()).toEqual(["id_idx"]);
  });

  it.each<[string, object, number, number, RegExp]>([
    ["an unknown column", { columns: ["price", "nope"] }, 404, 12, /nope/],
    ["all columns", { columns: Object.keys(before) }, 400, 13, /./],
    ["no columns", { columns: [] }, 400, 13, /columns/],
    ["nothing", {}, 400, 13, /columns/],
    ["a plain name instead of a list", { columns: "price" }, 400, 13, /columns/],
    ["an unknown branch", { columns: ["price"], branch: "dev" }, 404, 22, /dev/],
  ])("fails for %s", async (_, body, status, code, detail) => {
    expectFailure(await post("refusing", "drop_columns", body), status, code, detail);
    expect(await types("refusing")).toEqual(before);
  });
});
