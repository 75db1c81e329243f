import { describe, expect, it } from "vitest";
import { emptyStream, items, stream, type } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const add = (path: string, body: Uint8Array | object, params?: Record<string, string>) =>
  joust.client.post(`/v1/table/${path}`, body, params);

describe("a column added by a schema", () => {
  it.each(["add_columns", "add_columns/"])("is null in existing rows (%s)", async (call) => {
    const id = `t_${call.length}`;
    await joust.client.createTable(id, items(5));
    const schema = emptyStream({ note: type.text, spot: type.vector(3), tags: type.texts });
    const reply = await add(`${id}/${call}`, schema);
    expect([reply.status, reply.json.version]).toEqual([200, 2]);
    expect(reply.headers.get("x-lancedb-version")).toBe("2");
    const rows = await joust.client.query(id, {
      k: 10,
      vector: {},
      columns: { column_names: ["id", "note", "spot", "tags"] },
    });
    expect([...rows].map((row) => [row.note, row.spot, row.tags])).toEqual(
      Array(5).fill([null, null, null]),
    );
    await joust.client.ok(`/v1/table/${id}/update`, {
      updates: [["note", "'x'"]],
      predicate: "id = 1",
    });
    expect(await joust.client.count(id, { predicate: "note = 'x'" })).toBe(1);
  });

  it("can be added on a branch", async () => {
    await joust.client.createTable("forked", items(2));
    await joust.client.ok("/v1/table/forked/branches/create", { name: "dev" });
    const schema = emptyStream({ note: type.text });
    expect((await add("forked/add_columns/", schema, { branch: "dev" })).status).toBe(200);
    const names = async (branch?: string) =>
      (await joust.client.ok("/v1/table/forked/describe", { branch })).schema.fields.map(
        (field: { name: string }) => field.name,
      );
    expect(await names("dev")).toContain("note");
    expect(await names()).not.toContain("note");
  });

  it("is rejected if the schema is invalid", async () => {
    await joust.client.createTable("refused", items(2));
    const cases: [Uint8Array, RegExp][] = [
      [emptyStream({ id: type.i64 }), /already/],
      [emptyStream({}), /new_columns|empty|column/],
      [emptyStream({ "a.b": type.i64 }), /column name/],
      [stream({ note: [type.text, ["x"]] }), /without rows/],
      [new Uint8Array([1, 2, 3]), /./],
      [new Uint8Array(0), /./],
    ];
    for (const [body, detail] of cases) {
      expectFailure(await add("refused/add_columns/", body), 400, 13, detail);
    }
    expectFailure(await add("missing/add_columns/", emptyStream({ a: type.i64 })), 404, 4);
    const text = { body: "id,name", headers: { "content-type": "text/csv" } };
    expectFailure(await joust.client.request("/v1/table/refused/add_columns/", text), 415, 13);
    expect((await joust.client.ok("/v1/table/refused/describe")).version).toBe(1);
  });
});
