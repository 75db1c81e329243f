import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { viewClient } from "./view-client.js";

const joust = setupServer();
const { create, view } = viewClient(joust);

beforeAll(async () => {
  await joust.client.createNamespace("ns");
  await joust.client.createTable("t", items(10));
  await joust.client.createTable("ns$t", items(10));
  await joust.client.ok("/v1/table/declared/declare", {});
  await view("a", "SELECT id FROM t");
  await view("z", "SELECT t.id FROM t JOIN ns.t AS other ON t.id = other.id");
  await create("ns$empty", { query: "SELECT 1 AS one", with_no_data: true });
});

describe("materialized views", () => {
  it("are listed separately from tables, page by page", async () => {
    const path = "/v1/namespace/$/materialized_view/list";
    expect((await joust.client.get(path)).json).toEqual({ views: ["a", "z"] });
    expect(await joust.client.ok("/v1/namespace/ns/materialized_view/list", {})).toEqual({
      views: ["empty"],
    });
    const seen: string[] = [];
    let page_token = "";
    do {
      const page = await joust.client.ok(path, { limit: 1, page_token });
      expect(page.views.length).toBeLessThanOrEqual(1);
      seen.push(...page.views);
      page_token = page.page_token ?? "";
    } while (page_token !== "");
    expect(seen).toEqual(["a", "z"]);
  });

  it("are listed only for valid requests", async () => {
    const list = (id: string, body: object) =>
      joust.client.post(`/v1/namespace/${id}/materialized_view/list`, body);
    expectFailure(await list("nowhere", {}), 404, 1);
    expectFailure(await list("$", { limit: 0 }), 400, 13, /limit/);
    expectFailure(await list("$", { page_token: "forged" }), 400, 13, /page_token/);
  });

  it("are described with their query and its source tables", async () => {
    const path = (id: string) => `/v1/materialized_view/${id}/describe`;
    expect(await joust.client.ok(path("a"), {})).toEqual({
      kind: "query",
      query: "SELECT id FROM t",
      source_table: "t",
      source_namespace: [],
      tables: [["t"]],
      refresh_mode: "incremental",
      refreshed_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      source_versions: [{ refreshed: 1, newest: 1 }],
    });
    const { tables } = await joust.client.ok(path("z"), {});
    expect(tables.sort()).toEqual([["ns", "t"], ["t"]]);
    expect(await joust.client.ok(path("ns$empty"), {})).toMatchObject({
      source_table: "",
      tables: [],
      refresh_mode: "full",
      full_because: "the query reads no table",
      source_versions: [],
    });
    expectFailure(await joust.client.post(path("t"), {}), 409, 19, /not a materialized view/);
    expectFailure(await joust.client.post(path("missing"), {}), 404, 4);
    expectFailure(await joust.client.post(path("declared"), {}), 404, 4);
  });

  it("are dropped by drop view, which rejects tables", async () => {
    const drop = (id: string) => joust.client.post(`/v1/materialized_view/${id}/drop`, {});
    expectFailure(await drop("t"), 409, 19, /not a materialized view/);
    expectFailure(await drop("missing"), 404, 4);
    await view("gone", "SELECT id FROM t");
    expect((await drop("gone")).json).toMatchObject({ id: ["gone"] });
    expectFailure(await drop("gone"), 404, 4);
    expect(await joust.client.count("t")).toBe(10);
  });
});
