import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const remove = (id: string, body: object) => joust.client.post(`/v1/table/${id}/delete`, body);

beforeAll(async () => {
  await joust.client.createTable("t", items(10));
});

describe("delete", () => {
  it("removes the rows that match a predicate", async () => {
    await joust.client.createTable("some", items(10));
    const reply = await remove("some", { predicate: "id >= 7 OR name = 'item 0'" });
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({
      transaction_id: expect.any(String),
      version: 2,
      num_deleted_rows: 4,
    });
    expect(reply.headers.get("x-lancedb-version")).toBe("2");
    expect(await joust.client.count("some")).toBe(6);
    expect(await joust.client.count("some", { version: 1 })).toBe(10);
  });

  it("removes all rows for the predicate true", async () => {
    await joust.client.createTable("all", items(10));
    expect((await remove("all", { predicate: "true" })).json.num_deleted_rows).toBe(10);
    expect(await joust.client.count("all")).toBe(0);
    await joust.client.insert("all", items(2));
    expect(await joust.client.count("all")).toBe(2);
  });

  it("may match no row", async () => {
    expect((await remove("t", { predicate: "id > 1000" })).json.num_deleted_rows).toBe(0);
    expect(await joust.client.count("t")).toBe(10);
  });

  it.each([
    ["no predicate", {}, /predicate/],
    ["an empty predicate", { predicate: "" }, /predicate/],
    ["a blank predicate", { predicate: "  " }, /predicate/],
    ["a predicate that is not a string", { predicate: 1 }, /predicate/],
    ["a predicate that is not SQL", { predicate: "id = = 3" }, /./],
    ["SQL that is not a condition", { predicate: "id + 1" }, /./],
    ["a condition with trailing text", { predicate: "id = 3 garbage" }, /./],
    ["a statement after the condition", { predicate: "id = 3; DROP TABLE t" }, /./],
    ["a clause after the condition", { predicate: "id = 3 LIMIT 1" }, /./],
    ["an additional parenthesis", { predicate: "id = 3) OR (true" }, /./],
    ["a placeholder", { predicate: "name = $1" }, /./],
    ["an aggregate", { predicate: "count(id) = 3" }, /^((?!\{).)*$/],
    ["a subquery", { predicate: "id IN (SELECT 1)" }, /./],
    ["an unknown function", { predicate: "no_such_function(id) = 1" }, /no_such_function/],
  ])("rejects %s", async (_, body, detail) => {
    expectFailure(await remove("t", body), 400, 13, detail);
    expect(await joust.client.count("t")).toBe(10);
  });

  it("returns 404 for a missing table, branch or column", async () => {
    expectFailure(await remove("t", { predicate: "nope = 1" }), 404, 12, /nope/);
    expectFailure(await remove("none", { predicate: "id = 1" }), 404, 4, /none/);
    expectFailure(await remove("t", { predicate: "id = 1", branch: "dev" }), 404, 22, /dev/);
  });
});
