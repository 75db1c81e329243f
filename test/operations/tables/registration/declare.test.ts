import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { emptyStream, items, type } from "../../../harness/arrow.js";
import { expectFailure } from "../../../harness/expect-failure.js";
import { setupServer } from "../../../harness/setup-server.js";

const joust = setupServer();
const declare = (id: string, body: object = {}) =>
  joust.client.post(`/v1/table/${id}/declare`, body);
const describeTable = (id: string, body: object = {}) =>
  joust.client.post(`/v1/table/${id}/describe`, body);

beforeAll(() => joust.client.createNamespace("ns"));

describe("a declared table", () => {
  it("has a name, a location and properties but no version and no schema", async () => {
    const answer = await declare("plain", { properties: { team: "x" }, vend_credentials: true });
    expect(answer.status).toBe(200);
    const location = join(joust.root, "plain.lance");
    expect(answer.json).toEqual({
      transaction_id: expect.any(String),
      location,
      properties: { team: "x" },
    });
    expect(existsSync(location)).toBe(false);
    expect((await describeTable("plain")).json).toEqual({
      table: "plain",
      namespace: [],
      location,
      properties: { team: "x" },
      is_only_declared: true,
    });
    expect((await joust.client.post("/v1/table/plain/exists")).status).toBe(200);
    expectFailure(await joust.client.post("/v1/table/plain/exists", { version: 1 }), 404, 4);
    expectFailure(await describeTable("plain", { version: 1 }), 404, 4);
  });

  it("has its own location in a child namespace", async () => {
    const { location } = (await declare("ns%24child")).json;
    expect(location).toMatch(/\/[0-9a-f]{8}_ns\$child$/);
  });

  it("is listed unless the request excludes declared tables", async () => {
    const { client } = joust;
    await declare("ns%24only");
    await client.createTable("ns$real", items(1));
    const path = "/v1/namespace/ns/table/list";
    const tables = async (params: Record<string, string>) =>
      (await client.get(path, params)).json.tables;
    expect(await tables({})).toContain("only");
    expect(await tables({ include_declared: "true" })).toContain("only");
    expect(await tables({ include_declared: "false" })).toEqual(["real"]);
    expect((await client.ok(path, { include_declared: false })).tables).toEqual(["real"]);
    const all = async (include_declared: string) =>
      (await client.get("/v1/table", { include_declared })).json.tables;
    expect(await all("true")).toContain("ns$only");
    expect(await all("false")).not.toContain("ns$only");
    expectFailure(await client.get(path, { include_declared: "maybe" }), 400, 13);
  });

  it("rejects operations that need a version", async () => {
    const { client } = joust;
    await declare("empty");
    for (const [what, body] of [
      ["count_rows", {}],
      ["query", { k: 1, vector: { single_vector: [] } }],
      ["delete", { predicate: "true" }],
      ["stats", {}],
      ["version/list", {}],
      ["create_index", { column: "a", index_type: "BTREE" }],
    ] as const) {
      const answer = await client.post(`/v1/table/empty/${what}`, body);
      if (what === "version/list" && answer.status === 200) {
        expect(answer.json.versions).toEqual([]);
      } else expectFailure(answer, 404, 4, /declared/);
    }
  });

  it("does not exist in the LanceDB dialect", async () => {
    const { client } = joust;
    await declare("sdk");
    expectFailure(await client.post("/v1/table/sdk/describe/"), 404, 4);
    expect((await client.get("/v1/table/")).json.tables).not.toContain("sdk");
  });

  it("gets its first version from an insert", async () => {
    const { client } = joust;
    await declare("inserted");
    expect(await client.insert("inserted", items(5))).toMatchObject({
      num_inserted_rows: 5,
      version: 1,
    });
    expect(await client.count("inserted")).toBe(5);
    const { json } = await describeTable("inserted", { check_declared: true });
    expect(json).toMatchObject({ version: 1, is_only_declared: false });
    await client.insert("inserted", items(5));
    expect(await client.count("inserted")).toBe(10);
  });

  it.each(["create", "exist_ok", "overwrite"])(
    "is created at its declared location with mode %s",
    async (mode) => {
      const { client } = joust;
      const id = `created-${mode}`;
      const { location } = (await declare(id, { properties: { a: "1", b: "1" } })).json;
      const created = await client.createTable(id, items(3), { mode, properties: '{"b":"2"}' });
      expect(created).toMatchObject({ location, version: 1, properties: { a: "1", b: "2" } });
      expect(await client.count(id)).toBe(3);
      expect((await describeTable(id)).json.properties).toEqual({ a: "1", b: "2" });
      expectFailure(await client.post(`/v1/table/${id}/create`, items(1)), 409, 5);
    },
  );

  it("can be created without rows", async () => {
    await declare("norows");
    await joust.client.createTable("norows", emptyStream({ a: type.i64 }));
    expect(await joust.client.count("norows")).toBe(0);
  });

  it("gets its first version from a merge with inserts", async () => {
    const { client } = joust;
    await declare("merged");
    const path = "/v1/table/merged/merge_insert";
    const merge = (on: string, more: Record<string, string>, rows = items(5)) =>
      client.post(path, rows, { on, ...more });
    const inserts = { when_not_matched_insert_all: "true" };
    // A merge without inserts has no columns to create.
    expectFailure(await merge("id", { when_matched_update_all: "true" }), 404, 4, /declared/);
    // A merge that a table would reject creates no version.
    expectFailure(await merge("nothing", inserts), 404, 12, /nothing/);
    const filter = { when_matched_update_all_filt: "source.no = = 1" };
    expectFailure(await merge("id", { ...inserts, ...filter }), 400, 13);
    const removal = { when_not_matched_by_source_delete_filt: "no > 1" };
    expectFailure(await merge("id", { ...inserts, ...removal }), 404, 12, /no/);
    expectFailure(await merge("id", inserts, items(5).subarray(0, 300)), 400, 13);
    expect((await describeTable("merged")).json.is_only_declared).toBe(true);

    const { location } = (await describeTable("merged")).json;
    const all = { ...inserts, when_matched_update_all: "true" };
    const answer = await merge("id", all);
    expect(answer.json).toEqual({
      transaction_id: expect.any(String),
      num_updated_rows: 0,
      num_inserted_rows: 5,
      num_deleted_rows: 0,
      num_attempts: 1,
      num_rows: 5,
      version: 1,
    });
    expect(answer.headers.get("x-lancedb-version")).toBe("1");
    expect(await client.count("merged")).toBe(5);
    const { json } = await describeTable("merged", { check_declared: true });
    expect(json).toMatchObject({ location, version: 1, is_only_declared: false });
    const again = await merge("id", all, items(5, { from: 3 }));
    expect(again.json).toMatchObject({ num_updated_rows: 2, num_inserted_rows: 3, version: 2 });
  });

  it("is merged once under one idempotency key", async () => {
    const { client } = joust;
    await declare("once");
    const headers = { "idempotency-key": "first-merge" };
    const send = () =>
      client.request("/v1/table/once/merge_insert?on=id&when_not_matched_insert_all=true", {
        body: items(4),
        headers,
      });
    const [first, second] = [await send(), await send()];
    expect(first.json).toMatchObject({ num_inserted_rows: 4, version: 1 });
    expect(second.json).toEqual(first.json);
    expect(await client.count("once")).toBe(4);
  });

  it("is created once by concurrent merges", async () => {
    const { client } = joust;
    await declare("merge-race");
    const path = "/v1/table/merge-race/merge_insert?on=id&when_not_matched_insert_all=true";
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, at) => client.post(path, items(1, { from: at }))),
    );
    const made = answers.filter(({ status }) => status === 200).length;
    expect(made).toBeGreaterThan(0);
    for (const answer of answers) if (answer.status !== 200) expectFailure(answer, 409, 14);
    expect(await client.count("merge-race")).toBe(made);
  });

  it("stays declared if its first version cannot be written", async () => {
    const { client } = joust;
    await declare("broken");
    expectFailure(await client.post("/v1/table/broken/insert", new Uint8Array([1, 2, 3])), 400, 13);
    expect((await describeTable("broken")).json.is_only_declared).toBe(true);
    await client.insert("broken", items(1));
  });

  it("is created once by concurrent inserts and creates", async () => {
    const { client } = joust;
    await declare("race");
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => client.post("/v1/table/race/insert", items(1))),
    );
    const made = answers.filter(({ status }) => status === 200).length;
    expect(made).toBeGreaterThan(0);
    for (const answer of answers) if (answer.status !== 200) expectFailure(answer, 409, 14);
    expect(await client.count("race")).toBe(made);
  });

  it("is renamed and dropped like other tables", async () => {
    const { client } = joust;
    await declare("before");
    await client.ok("/v1/table/before/rename", { new_table_name: "after" });
    expectFailure(await describeTable("before"), 404, 4);
    await client.ok("/v1/table/after/drop");
    expectFailure(await describeTable("after"), 404, 4);
    expect((await declare("after")).status).toBe(200);
  });
});

describe("declare table", () => {
  it("accepts a location below the root", async () => {
    const { root } = joust;
    for (const [id, given, location] of [
      ["relative", "deep/er.lance", join(root, "deep/er.lance")],
      ["absolute", join(root, "abs.lance"), join(root, "abs.lance")],
      ["uri", `file://${root}/uri.lance`, join(root, "uri.lance")],
    ] as const) {
      expect((await declare(id, { location: given })).json).toMatchObject({ location });
      await joust.client.insert(id, items(2));
      expect(await joust.client.count(id)).toBe(2);
    }
  });

  it("rejects locations outside of the root and taken locations", async () => {
    const { client, root } = joust;
    for (const location of [
      "../x",
      "/etc/x",
      "a/../../x",
      "s3://b/x",
      "file:///etc/x",
      ".joust/x",
      "",
    ]) {
      expectFailure(await declare("refused", { location }), 400, 13, /location/);
    }
    await client.createTable("owner", items(1));
    for (const location of ["owner.lance", "owner.lance/data", join(root, "owner.lance")]) {
      expectFailure(await declare("refused", { location }), 409, 5, /location/);
    }
    expectFailure(await describeTable("refused"), 404, 4);
  });

  it("rejects taken or invalid names and missing parents", async () => {
    await declare("twice");
    expectFailure(await declare("twice"), 409, 5);
    await joust.client.createTable("existing", items(1));
    expectFailure(await declare("existing"), 409, 5);
    expectFailure(await declare("no%24table"), 404, 1);
    expectFailure(await declare("%24"), 400, 13);
    expectFailure(await declare("_joust"), 400, 13);
    expectFailure(await declare("typed", { properties: { a: 1 } }), 400, 13, /properties/);
  });

  it("reports managed_versioning to a client that requests it", async () => {
    const answer = await declare("managed", { properties: { managed_versioning: "true" } });
    expect(answer.json.managed_versioning).toBe(true);
    expect((await describeTable("managed")).json.managed_versioning).toBe(true);
    await joust.client.insert("managed", items(1));
    expect((await describeTable("managed")).json.managed_versioning).toBe(true);
  });
});
