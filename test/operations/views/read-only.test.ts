import { beforeAll, describe, expect, it } from "vitest";
import { emptyStream, items, stream, type } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { waitForJobResult } from "../../harness/jobs.js";
import { setupServer } from "../../harness/setup-server.js";
import { viewClient } from "./view-client.js";

const joust = setupServer();
const { refreshed, view } = viewClient(joust);

beforeAll(async () => {
  await joust.client.createNamespace("ns");
  await joust.client.createTable("t", items(100));
  await joust.client.createTable("ns$Items", items(50));
});

describe("a materialized view is changed by its refresh only", () => {
  beforeAll(async () => {
    await view("fixed", "SELECT id, name, price FROM t");
  });

  const three = stream({
    id: [type.i64, [1n]],
    name: [type.text, ["x"]],
    price: [type.f64, [1]],
  });

  it.each<[string, object | Uint8Array]>([
    ["insert", three],
    ["insert?mode=overwrite", three],
    ["create?mode=overwrite", three],
    ["merge_insert?on=id&when_matched_update_all=true", three],
    ["update", { updates: [["name", "'x'"]] }],
    ["delete", { predicate: "true" }],
    ["add_columns", { new_columns: [{ name: "x", expression: "id" }] }],
    ["alter_columns", { alterations: [{ path: "name", rename: "x" }] }],
    ["drop_columns", { columns: ["name"] }],
    ["update_field_metadata", { updates: [{ path: "id", metadata: { a: "b" } }] }],
    ["schema_metadata/update", { a: "b" }],
    ["restore", { version: 1 }],
  ])("and not by %s", async (what, body) => {
    expectFailure(await joust.client.post(`/v1/table/fixed/${what}`, body), 409, 19, /view/);
    expect(await joust.client.count("fixed")).toBe(100);
  });

  it("and not by a multipart write or a request in the LanceDB dialect", async () => {
    const { upload_id } = await joust.client.ok("/v1/table/fixed/multipart_write/create");
    const part = await joust.client.post("/v1/table/fixed/insert/", three, { upload_id });
    expectFailure(part, 400, 19, /view/);
    const nulls = emptyStream({ note: type.text });
    expectFailure(await joust.client.post("/v1/table/fixed/add_columns/", nulls), 400, 19, /view/);
    expect(await joust.client.count("fixed")).toBe(100);
  });

  it("and not on a branch", async () => {
    await joust.client.ok("/v1/table/fixed/branches/create", { name: "dev" });
    const body = { predicate: "true", branch: "dev" };
    expectFailure(await joust.client.post("/v1/table/fixed/delete", body), 409, 19, /view/);
    await joust.client.ok("/v1/table/fixed/branches/delete", { name: "dev" });
  });

  it("except that compaction may merge its fragments", async () => {
    await refreshed("fixed", { full: true, max_rows_per_fragment: 10 });
    const { job_id } = await joust.client.ok("/v1/table/fixed/compact", {});
    expect(await waitForJobResult(joust.client, job_id)).toMatchObject({ fragments_removed: 10 });
    expect(await joust.client.count("fixed")).toBe(100);
  });
});
