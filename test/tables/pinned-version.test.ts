import { tableFromIPC } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { contract } from "../../src/operations/index.js";
import { items } from "../harness/arrow.js";
import type { Answer } from "../harness/client.js";
import { waitForIndex } from "../harness/indexes.js";
import { setupServer } from "../harness/setup-server.js";

const joust = setupServer();

/** Version v has 10 v rows; an index exists from version 3 on and one more column from version 5 on. */
beforeAll(async () => {
  const { client } = joust;
  await client.createTable("t", items(10));
  await client.insert("t", items(10, { from: 10 }));
  await client.ok("/v1/table/t/create_scalar_index", { column: "id", index_type: "BTREE" });
  await waitForIndex(client, "t", "id_idx");
  await client.insert("t", items(10, { from: 20 }));
  await client.ok("/v1/table/t/add_columns", { new_columns: [{ name: "n", expression: "1" }] });
});

const rowsAt = [0, 10, 20, 20, 30, 30];
const query = { k: 1000, vector: {}, columns: { column_names: ["id"] } };

/** What each operation with a version parameter returns for it. */
const reads: Record<
  string,
  [
    path: string,
    body: object,
    observe: (answer: Answer) => unknown,
    expected: (version: number) => unknown,
  ]
> = {
  DescribeTable: [
    "describe",
    {},
    ({ json }) => [json.version, json.schema.fields.length],
    (version) => [version, version < 5 ? 5 : 6],
  ],
  TableExists: ["exists", {}, ({ headers }) => headers.get("x-lancedb-version"), String],
  CountTableRows: ["count_rows", {}, ({ json }) => json, (version) => rowsAt[version]],
  QueryTable: [
    "query",
    query,
    ({ bytes, headers }) => [tableFromIPC(bytes).numRows, headers.get("x-lancedb-version")],
    (version) => [rowsAt[version], String(version)],
  ],
  AnalyzeTableQueryPlan: [
    "analyze_plan",
    query,
    ({ json }) => /output_rows=(\d+)/.exec(json)?.[1],
    (version) => String(rowsAt[version]),
  ],
  ListTableIndices: [
    "index/list",
    {},
    ({ json }) => json.indexes.length,
    (version) => (version < 3 ? 0 : 1),
  ],
  DescribeTableIndexStats: [
    "index/id_idx/stats",
    {},
    ({ status, json }) =>
      status === 200 ? json.num_indexed_rows + json.num_unindexed_rows : status,
    (version) => (version < 3 ? 404 : rowsAt[version]),
  ],
  DescribeTableVersion: [
    "version/describe",
    {},
    ({ json }) => json.version.version,
    (version) => version,
  ],
};

describe("a version named in a request", () => {
  const cases = Object.entries(reads).flatMap(([operation, read]) =>
    [1, 2, 3, 4, 5].map((version) => [operation, version, read] as const),
  );

  it.each(cases)("is what %s reads: %i", async (_, version, [path, body, observe, expected]) => {
    for (const slash of ["", "/"]) {
      const answer = await joust.client.post(`/v1/table/t/${path}${slash}`, { ...body, version });
      // The SDKs' listing shows ready indexes only, which are all indexes here.
      expect(observe(answer)).toEqual(expected(version));
    }
  });

  it("is what a plan is made for", async () => {
    const explain = async (version: number): Promise<string> =>
      joust.client.ok("/v1/table/t/explain_plan", {
        query: { k: 1000, vector: {}, filter: "id = 1", version },
      });
    expect(await explain(2)).not.toContain("id_idx");
    expect(await explain(3)).toContain("id_idx");
  });

  it("is what restore restores", async () => {
    const { client } = joust;
    await client.createTable("old", items(1));
    await client.insert("old", items(1));
    await client.insert("old", items(1));
    await client.ok("/v1/table/old/restore", { version: 2 });
    expect(await client.count("old")).toBe(2);
  });

  it("can be named in every read operation", () => {
    const reading = contract.filter(({ permission, body, params }) => {
      const members = { ...params.properties, ...("schema" in body && body.schema.properties) };
      return permission === "read" && "version" in members;
    });
    expect(reading.map(({ id }) => id).sort()).toEqual(Object.keys(reads).sort());
  });
});
