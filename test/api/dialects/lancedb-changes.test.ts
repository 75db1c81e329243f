import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import type { Json } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const post = (path: string, body?: object | Uint8Array, params?: Record<string, string>) =>
  joust.client.post(`/v1/table/${path}/`, body, params);

/** A table of three versions. */
async function createThreeVersions(id: string): Promise<void> {
  await post(`${id}/create`, items(3));
  for (const from of [3, 4]) await post(`${id}/insert`, items(1, { from }));
}

beforeAll(() => createThreeVersions("t"));

describe("row, column and version changes in the LanceDB dialect", () => {
  it("update reports the number of rows as rows_updated only", async () => {
    await createThreeVersions("updated");
    const updates = [["price", "price + 1"]];
    const reply = await post("updated/update", { updates, predicate: null });
    expect(reply.json).toMatchObject({ rows_updated: 5, version: 4 });
    expect(reply.json).not.toHaveProperty("updated_rows");
    expect(reply.headers.get("x-lancedb-version")).toBe("4");
    expect((await post("updated/update", { updates, predicate: "id = 1" })).json.rows_updated).toBe(
      1,
    );
  });

  it("merge accepts repeated on keys and takes its timeout from a header", async () => {
    await createThreeVersions("merged");
    const query =
      "on=id&on=name&when_matched_update_all=false&when_not_matched_insert_all=true&when_not_matched_by_source_delete=false";
    const reply = await joust.client.request(`/v1/table/merged/merge_insert/?${query}`, {
      body: items(4, { from: 3 }),
      headers: { "x-request-timeout-ms": "30000" },
    });
    expect(reply.json).toMatchObject({
      num_inserted_rows: 2,
      num_updated_rows: 0,
      num_deleted_rows: 0,
      num_attempts: 1,
      num_rows: 4,
      version: 4,
    });
  });

  it("column operations change columns and their metadata", async () => {
    await createThreeVersions("columns");
    const added = await post("columns/add_columns", {
      new_columns: [{ name: "twice", expression: "price * 2" }],
    });
    expect(added.json).toEqual({ version: 4, transaction_id: expect.any(String) });
    const computed = { name: "sum", computed: "price + id", auto_refresh_enabled: false };
    expect((await post("columns/add_columns", { new_columns: [computed] })).json.version).toBe(5);
    const altered = await post("columns/alter_columns", {
      alterations: [{ path: "twice", rename: "double", data_type: { type: "float" } }],
    });
    expect(altered.json.version).toBe(6);
    const noted = await post("columns/update_field_metadata", {
      updates: [{ path: "double", metadata: { unit: "EUR", old: null }, replace: false }],
    });
    expect(noted.json).toEqual({
      version: 7,
      fields: { double: { unit: "EUR" } },
      transaction_id: expect.any(String),
    });
    expect((await post("columns/drop_columns", { columns: ["sum"] })).json.version).toBe(8);
    const { schema } = (await post("columns/describe")).json;
    expect(schema.fields.at(-1)).toMatchObject({ name: "double", type: { type: "float" } });
    const registered = { name: "f", all_null: true, function: { application: "a" } };
    const refused = await post("columns/add_columns", { new_columns: [registered] });
    expectFailure(refused, 406, 0, /function/);
  });

  it("update_field_metadata sets the primary key", async () => {
    await createThreeVersions("keyed");
    const required = { alterations: [{ path: "id", nullable: false }] };
    expect((await post("keyed/alter_columns", required)).status).toBe(200);
    const position = "lance-schema:unenforced-primary-key:position";
    const metadata = { [position]: "1", "lance-schema:unenforced-primary-key": null };
    const reply = await post("keyed/update_field_metadata", {
      updates: [{ path: "id", metadata }],
    });
    expect(reply.json.fields).toEqual({ id: { [position]: "1" } });
  });

  it("version/list accepts a request without a body and returns timestamps", async () => {
    const { versions } = (await post("t/version/list")).json;
    expect(versions.map((one: Json) => [one.version, typeof one.timestamp_millis])).toEqual([
      [1, "number"],
      [2, "number"],
      [3, "number"],
    ]);
  });

  it("restore accepts a request without a version", async () => {
    await createThreeVersions("restored");
    expect((await post("restored/restore", { version: 1 })).json.version).toBe(4);
    expect((await post("restored/count_rows", { version: null })).text).toBe("3");
    expect((await post("restored/restore", { version: null })).status).toBe(200);
    expect((await post("restored/count_rows")).text).toBe("3");
    expectFailure(await post("restored/restore", { version: 99 }), 404, 11);
  });
});

describe("tags in the LanceDB dialect", () => {
  it("list returns all tags as one map", async () => {
    expect((await post("t/tags/list")).json).toEqual({});
    for (const [tag, version] of [
      ["a", 1],
      ["b", 2],
    ] as const) {
      expect((await post("t/tags/create", { tag, version })).status).toBe(200);
    }
    const first = {
      version: 1,
      manifestSize: expect.any(Number),
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      metadata: {},
    };
    expect((await post("t/tags/list")).json).toEqual({ a: first, b: { ...first, version: 2 } });
    expect((await post("t/tags/version", { tag: "b" })).json).toEqual({ version: 2 });
    expect((await post("t/tags/update", { tag: "b", version: 3 })).status).toBe(200);
    expect((await post("t/tags/version", { tag: "b" })).json).toEqual({ version: 3 });
    expect((await post("t/tags/delete", { tag: "b" })).status).toBe(200);
    expect(Object.keys((await post("t/tags/list")).json)).toEqual(["a"]);
  });

  it("return statuses that the SDKs do not retry when a retry cannot succeed", async () => {
    await createThreeVersions("held");
    await post("held/tags/create", { tag: "release", version: 1 });
    const again = await post("held/tags/create", { tag: "release", version: 1 });
    expectFailure(again, 400, 9, /already/);
    expectFailure(await post("t/tags/version", { tag: "none" }), 404, 8, /none/);
    const ranges = [{ start_version: 1, end_version: 2 }];
    expectFailure(await post("held/version/delete", { ranges }), 400, 19, /release/);
  });
});

describe("branches in the LanceDB dialect", () => {
  it("can be created, listed, read, written and deleted", async () => {
    await createThreeVersions("forked");
    expect((await post("forked/branches/create", { name: "dev" })).status).toBe(200);
    expectFailure(await post("forked/branches/create", { name: "dev" }), 409, 23, /dev/);
    expectFailure(await post("forked/branches/create", { name: "a b" }), 400, 13);
    expectFailure(await post("forked/branches/create", { name: "x", from_branch: "no" }), 404, 22);
    expect((await post("forked/branches/list")).json).toEqual({
      branches: {
        dev: {
          parentVersion: 3,
          createAt: expect.any(Number),
          manifestSize: expect.any(Number),
          metadata: {},
        },
      },
    });
    await post("forked/insert", items(2, { from: 9 }), { branch: "dev" });
    expect((await post("forked/count_rows", { version: null, branch: "dev" })).text).toBe("7");
    expect((await post("forked/count_rows", { version: null })).text).toBe("5");
    expect((await post("forked/stats", { branch: "dev" })).json.num_rows).toBe(7);
    const versions = (await post("forked/version/list", undefined, { branch: "dev" })).json
      .versions;
    expect(versions.map((one: Json) => one.version)).toEqual([3, 4]);
    await post("forked/branches/create", { name: "twig", from_branch: "dev", from_version: 4 });
    expectFailure(await post("forked/branches/delete", { name: "dev" }), 400, 19, /dev/);
    for (const name of ["twig", "dev"]) {
      expect((await post("forked/branches/delete", { name })).status).toBe(200);
    }
    expectFailure(await post("forked/branches/delete", { name: "dev" }), 404, 22, /dev/);
  });
});
