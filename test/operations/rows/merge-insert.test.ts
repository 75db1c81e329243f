import { beforeAll, describe, expect, it } from "vitest";
import { emptyStream, items, stream, type } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();

/** Rows with id and price and without the table's other columns. */
const rows = (...pairs: [number, number][]) =>
  stream({
    id: [type.i64, pairs.map(([id]) => BigInt(id))],
    price: [type.f64, pairs.map(([, price]) => price)],
  });
const table = () => rows([0, 0], [1, 10], [2, 20], [3, 30]);
const source = () => rows([2, 21], [3, 31], [4, 41]);

const merge = (id: string, query: string, body: Uint8Array = source(), headers = {}) =>
  joust.client.request(`/v1/table/${id}/merge_insert?${query}`, { body, headers });

async function prices(id: string): Promise<[number, number][]> {
  const result = await joust.client.query(id, { k: 100, vector: {} });
  const pairs = [...result].map((row): [number, number] => [Number(row.id), row.price]);
  return pairs.sort(([a], [b]) => a - b);
}

const encode = encodeURIComponent;
const upsert = "on=id&when_matched_update_all=true&when_not_matched_insert_all=true";

beforeAll(async () => {
  await joust.client.createTable("refusing", table());
});

describe("merge_insert", () => {
  it.each<[string, string, [number, number, number], [number, number][]]>([
    [
      "upsert",
      upsert,
      [2, 1, 0],
      [
        [0, 0],
        [1, 10],
        [2, 21],
        [3, 31],
        [4, 41],
      ],
    ],
    [
      "insert",
      "on=id&when_not_matched_insert_all=true",
      [0, 1, 0],
      [
        [0, 0],
        [1, 10],
        [2, 20],
        [3, 30],
        [4, 41],
      ],
    ],
    [
      "update",
      "on=id&when_matched_update_all=true",
      [2, 0, 0],
      [
        [0, 0],
        [1, 10],
        [2, 21],
        [3, 31],
      ],
    ],
    [
      "update_if",
      `on=id&when_matched_update_all=true&when_matched_update_all_filt=${encode("target.price > 25 and source.price = 31")}`,
      [1, 0, 0],
      [
        [0, 0],
        [1, 10],
        [2, 20],
        [3, 31],
      ],
    ],
    [
      "delete",
      "on=id&when_not_matched_by_source_delete=true",
      [0, 0, 2],
      [
        [2, 20],
        [3, 30],
      ],
    ],
    [
      "delete_if",
      `on=id&when_not_matched_by_source_delete=true&when_not_matched_by_source_delete_filt=${encode("price < 5")}`,
      [0, 0, 1],
      [
        [1, 10],
        [2, 20],
        [3, 30],
      ],
    ],
    [
      "replace",
      `${upsert}&when_not_matched_by_source_delete=true`,
      [2, 1, 2],
      [
        [2, 21],
        [3, 31],
        [4, 41],
      ],
    ],
    [
      "scan",
      `${upsert}&use_index=false`,
      [2, 1, 0],
      [
        [0, 0],
        [1, 10],
        [2, 21],
        [3, 31],
        [4, 41],
      ],
    ],
    [
      "two_keys",
      "on=id&on=price&when_not_matched_insert_all=true",
      [0, 3, 0],
      [
        [0, 0],
        [1, 10],
        [2, 20],
        [2, 21],
        [3, 30],
        [3, 31],
        [4, 41],
      ],
    ],
  ])(
    "does what its options say: %s",
    async (name, query, [updated, inserted, deleted], expected) => {
      await joust.client.createTable(name, table());
      const reply = await merge(name, query);
      expect(reply.json).toEqual({
        num_updated_rows: updated,
        num_inserted_rows: inserted,
        num_deleted_rows: deleted,
        num_attempts: 1,
        num_rows: 3,
        version: 2,
        transaction_id: expect.any(String),
      });
      expect(reply.headers.get("x-lancedb-version")).toBe("2");
      const result = await prices(name);
      expect(result.sort(([a, p], [b, q]) => a - b || p - q)).toEqual(expected);
    },
  );

  it("finds matches through an index", async () => {
    await joust.client.createTable("indexed", table());
    await joust.client.ok("/v1/table/indexed/create_scalar_index", {
      column: "id",
      index_type: "BTREE",
    });
    await expect
      .poll(async () => (await joust.client.ok("/v1/table/indexed/index/list")).indexes[0].status)
      .toBe("Ready");
    expect((await merge("indexed", upsert)).json).toMatchObject({
      num_updated_rows: 2,
      num_inserted_rows: 1,
    });
    expect(await prices("indexed")).toEqual([
      [0, 0],
      [1, 10],
      [2, 21],
      [3, 31],
      [4, 41],
    ]);
  });

  it("accepts a source without rows", async () => {
    await joust.client.createTable("still", table());
    const empty = emptyStream({ id: type.i64, price: type.f64 });
    expect((await merge("still", upsert, empty)).json).toMatchObject({
      num_updated_rows: 0,
      num_inserted_rows: 0,
      num_rows: 0,
    });
    expect(await prices("still")).toHaveLength(4);
  });

  it("keeps every row of many concurrent merges", async () => {
    await joust.client.createTable("busy", table());
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, at) => merge("busy", upsert, rows([0, at], [100 + at, at]))),
    );
    expect(replies.map((reply) => reply.status)).toEqual(Array(8).fill(200));
    expect(await prices("busy")).toHaveLength(12);
  });

  it.each(["30000ms", "30s", "1.5m", "1h"])("accepts the timeout %s", async (timeout) => {
    await joust.client.createTable(`in_${timeout}`, table());
    expect((await merge(`in_${timeout}`, `${upsert}&timeout=${timeout}`)).status).toBe(200);
  });

  it("accepts x-request-timeout-ms", async () => {
    await joust.client.createTable("hurried", table());
    const reply = await merge("hurried", upsert, source(), { "x-request-timeout-ms": "30000" });
    expect(reply.status).toBe(200);
    const wrong = await merge("hurried", upsert, source(), { "x-request-timeout-ms": "soon" });
    expectFailure(wrong, 400, 13, /x-request-timeout-ms/);
    const none = await merge("hurried", upsert, source(), { "x-request-timeout-ms": "0" });
    expectFailure(none, 400, 13, /x-request-timeout-ms` must be an integer .* at least 1/);
  });

  it.each<[string, string, number, number, RegExp]>([
    ["no key", "when_not_matched_insert_all=true", 400, 13, /`on`/],
    ["an empty key", "on=&when_not_matched_insert_all=true", 400, 13, /on/],
    ["an unknown key", "on=nope&when_not_matched_insert_all=true", 404, 12, /nope/],
    ["a key named twice", "on=id&on=id&when_not_matched_insert_all=true", 400, 13, /twice/],
    ["no action", "on=id", 400, 13, /change/],
    ["an invalid flag", "on=id&when_matched_update_all=yes", 400, 13, /when_matched_update_all/],
    [
      "an unknown column in the update filter",
      "on=id&when_matched_update_all_filt=target.nope%3D1",
      404,
      12,
      /nope/,
    ],
    ["a broken update filter", "on=id&when_matched_update_all_filt=target.id%3D", 400, 13, /./],
    [
      "an unknown column in the delete filter",
      "on=id&when_not_matched_by_source_delete_filt=nope%3D1",
      404,
      12,
      /nope/,
    ],
    ["a timeout without a unit", `${upsert}&timeout=30`, 400, 13, /30s/],
    ["an unknown branch", `${upsert}&branch=dev`, 404, 22, /dev/],
  ])("rejects %s", async (_, query, status, code, detail) => {
    expectFailure(await merge("refusing", query), status, code, detail);
    expect(await prices("refusing")).toEqual([
      [0, 0],
      [1, 10],
      [2, 20],
      [3, 30],
    ]);
  });

  it("rejects rows with another schema", async () => {
    const { status, json } = await merge("refusing", upsert, stream({ id: [type.text, ["a"]] }));
    expect([status, json.code]).toEqual([400, expect.toBeOneOf([13, 20])]);
    expectFailure(await merge("refusing", upsert, items(2)), 400, 20, /./);
    expectFailure(await merge("refusing", upsert, new Uint8Array([1, 2, 3])), 400, 13, /./);
    expectFailure(await merge("nowhere", upsert), 404, 4, /nowhere/);
  });
});
