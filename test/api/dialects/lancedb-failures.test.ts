/** The SDKs retry on 409 and 5xx: a permanent failure must return another status. */
import type { TSchema } from "@sinclair/typebox";
import { beforeAll, describe, expect, it } from "vitest";
import type { Operation } from "../../../src/api/operation.js";
import { operations, translations } from "../../../src/operations/index.js";
import { items, stream, type } from "../../harness/arrow.js";
import type { Answer } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { waitForIndex } from "../../harness/indexes.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer();
const post = (path: string, body?: object | string | Uint8Array, params?: Record<string, string>) =>
  joust.client.post(path, body, params);

function expectLasting(answer: Answer, what: string): void {
  expect(answer.status, `${what}: ${answer.text}`).not.toBe(409);
  expect(answer.status, `${what}: ${answer.text}`).toBeLessThan(500);
  if (answer.status >= 400 && answer.bytes.length > 0) {
    expectFailure(answer, answer.status, answer.json.code);
  }
}

const routes = translations.map((translation) => {
  const operation = operations.find((one) => one.id === translation.operation) as Operation;
  const own = operation.dialect ? operation.path : `${operation.path}/`;
  const method = (translation.methods ?? operation.methods)[0] ?? "POST";
  return { operation, path: translation.path ?? own, method };
});

const bodies = (operation: Operation): (object | string)[] => {
  const schema = "schema" in operation.body ? (operation.body.schema as TSchema) : undefined;
  const names = Object.keys(schema?.properties ?? {});
  const wrong = [null, -1, 1.5, 2 ** 53, "x", "", [], ["x"], {}, { x: 1 }, true];
  return ["{", "[]", ...names.flatMap((name) => wrong.map((value) => ({ [name]: value })))];
};

describe("an impossible request in the LanceDB dialect", () => {
  it.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    "gets no status that the SDKs retry: %s",
    async (_, { operation, path, method }) => {
      const id = operation.id.replaceAll(/\W/g, "_");
      await joust.client.createTable(id, items(5));
      const filled = (table: string) =>
        path.replace("{id}", table).replaceAll(/\{\w+\}/g, "some%20name");
      const send = async (table: string, rest: object) =>
        expectLasting(
          await joust.client.request(filled(table), { method, ...rest }),
          `${method} ${filled(table)} ${JSON.stringify(rest).slice(0, 200)}`,
        );
      for (const table of ["missing", "no$such$namespace", "$", "a$$b", "%00", "x".repeat(300)]) {
        await send(table, {});
      }
      for (const name of ["branch", "version", "mode", "upload_id", "limit", "page_token"]) {
        for (const value of ["none", "-1", "x y", ""])
          await send(id, { params: { [name]: value } });
      }
      if (method === "GET") return;
      for (const body of bodies(operation)) {
        await send(id, { body, headers: { "content-type": "application/json" } });
      }
      const arrow = [items(2), stream({ n: [type.i64, [1n]] }), new Uint8Array([1, 2, 3])];
      for (const body of arrow) await send(id, { body });
    },
    60_000,
  );
});

describe("a request that conflicts with existing state in the LanceDB dialect", () => {
  beforeAll(async () => {
    const { client } = joust;
    await client.createTable("there", items(300));
    await client.createTable("other", items(1));
    await client.insert("there", items(1, { from: 300 }));
    await client.ok("/v1/table/there/tags/create", { tag: "release", version: 1 });
    await client.ok("/v1/table/there/branches/create", { name: "dev" });
    await client.ok("/v1/table/there/branches/create", { name: "twig", from_branch: "dev" });
    await client.ok("/v1/table/there/create_index", { column: "id", index_type: "BTREE" });
    await waitForIndex(client, "there", "id_idx");
  });

  const cases: [string, object | Uint8Array, number, RegExp][] = [
    ["create/", items(1), 5, /already exists/],
    ["rename/", { new_table_name: "other" }, 5, /already exists/],
    ["tags/create/", { tag: "release", version: 1 }, 9, /release/],
    ["version/delete/", { ranges: [{ start_version: 1, end_version: 2 }] }, 19, /release/],
    ["branches/delete/", { name: "dev" }, 19, /dev/],
    ["create_index/", { column: "id", index_type: "BTREE", replace: false }, 7, /id_idx/],
    ["add_columns/", { new_columns: [{ name: "id", expression: "1" }] }, 13, /already/],
    ["add_columns/", stream({ price: [type.f64, []] }), 13, /already/],
    ["alter_columns/", { alterations: [{ path: "name", rename: "id" }] }, 13, /already/],
    ["insert/", stream({ id: [type.text, ["x"]] }), 20, /./],
    ["drop_columns/", { columns: ["none"] }, 12, /none/],
    ["update/", { updates: [["none", "1"]], predicate: null }, 12, /none/],
    ["delete/", { predicate: "none = 1" }, 12, /none/],
    ["query/", { k: 1, vector: [1, 2, 3] }, 13, /vector/],
    ["restore/", { version: 0 }, 11, /0/],
  ];
  it.each(cases)(
    "returns the reason and no status that the SDKs retry: %s",
    async (call, body, code, detail) => {
      const answer = await post(`/v1/table/there/${call}`, body);
      expectFailure(answer, code === 11 ? 404 : 400, code, detail);
    },
  );

  it.each(["register/", "declare/"])(
    "reports a location in use as a table that already exists: %s",
    async (call) => {
      const { location } = await joust.client.ok("/v1/table/there/describe");
      const answer = await post(`/v1/table/fresh/${call}`, { location });
      expectFailure(answer, 400, 5, /already exists/);
    },
  );

  it("gets 406 for create_index with document_granularity list_element", async () => {
    const body = { column: "name", index_type: "FTS", document_granularity: "list_element" };
    const answer = await post("/v1/table/there/create_index/", body);
    expectFailure(answer, 406, 0, /document_granularity/);
  });

  it("gets 409 for a branch that exists, which the SDKs do not retry", async () => {
    expectFailure(await post("/v1/table/there/branches/create/", { name: "dev" }), 409, 23, /dev/);
  });
});

describe("operations of other products", () => {
  it.each([
    ["POST", "/v1/secret/s/create"],
    ["GET", "/v1/namespace/$/secret/list"],
    ["POST", "/v1/function/f/describe"],
    ["GET", "/v1/namespace/$/function/list?include_definition=true"],
    ["POST", "/v1/view/v/create"],
    ["GET", "/v1/namespace/$/view/list"],
    ["POST", "/v1/table/there/flush_rte/"],
    ["POST", "/v1/table/there/set_lsm_write_spec/"],
  ])("%s %s returns 406 with a sentence", async (method, path) => {
    const body = method === "POST" ? { body: { any: "thing" } } : {};
    expectFailure(await joust.client.request(path, { method, ...body }), 406, 0, /this server/);
  });

  it("the real-time engine operations of a table return null", async () => {
    for (const [call, member] of [
      ["get_rte_stats", "rte_stats"],
      ["get_rte_spec", "rte_spec"],
      ["get_lsm_stats", "lsm_stats"],
      ["get_lsm_write_spec", "lsm_write_spec"],
    ] as const) {
      expect((await post(`/v1/table/there/${call}/`)).json).toEqual({ [member]: null });
    }
  });
});
