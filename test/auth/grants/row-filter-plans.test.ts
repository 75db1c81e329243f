/** Plans that a caller with a row filter sees. */
import { beforeAll, describe, expect, it } from "vitest";
import type { Client } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { waitForIndex } from "../../harness/indexes.js";
import { setupServer } from "../../harness/setup-server.js";
import { setupGrants } from "./grant-callers.js";
import { FILTER, path, rowsOf } from "./tenants.js";

const servers = [
  ["Lance", setupServer({ args: ["--row-cache", "0", "--maintenance", "off"] })],
  ["joust", setupServer({ args: ["--row-cache", "256MiB", "--maintenance", "off"] })],
] as const;

const name = "f$t";
const fuzzy = {
  structured_query: {
    query: { match: { column: "secret", terms: "word1", fuzziness: 2, max_expansions: 50 } },
  },
};
const text = { string_query: { query: "3", columns: ["secret"] } };
const queries: readonly (readonly [string, object])[] = [
  ["a vector", { vector: [1, 0] }],
  ["a vector without the index", { vector: [1, 0], bypass_vector_index: true }],
  ["a vector and a condition", { vector: [1, 0], filter: "id > 2" }],
  ["a condition", { filter: "id > 2" }],
  ["a key", { filter: "id = 3" }],
  ["no condition", {}],
  ["a sort", { order_by: [{ column_name: "id" }] }],
  ["words", { full_text_query: text }],
  ["a fuzzy word", { full_text_query: fuzzy }],
  ["words and a vector", { full_text_query: text, vector: [1, 0] }],
];

describe.each(servers)("of a query executed by %s", (_, joust) => {
  const granted = setupGrants(joust);
  let client: Client;

  const explain = (by: Client, query: object, verbose = false): Promise<string> =>
    by.ok(path(name, "explain_plan"), { query: { k: 10, ...query }, verbose });
  const analyze = (by: Client, query: object): Promise<string> =>
    by.ok(path(name, "analyze_plan"), { k: 10, ...query });

  beforeAll(async () => {
    await joust.client.createNamespace("f");
    await joust.client.createTable(name, rowsOf([...Array(300).keys()]));
    for (const [call, index] of [
      ["create_scalar_index", { column: "secret", index_type: "FTS" }],
      ["create_scalar_index", { column: "id", index_type: "BTREE" }],
      ["create_index", { column: "vector", index_type: "IVF_FLAT", num_partitions: 2 }],
    ] as const) {
      await joust.client.ok(path(name, call), index);
      await waitForIndex(joust.client, name, `${index.column}_idx`);
    }
    // Three fragments; 20 rows are not in the indexes.
    await joust.client.insert(name, rowsOf([...Array(10).keys()].map((id) => 300 + id)));
    await joust.client.insert(name, rowsOf([...Array(10).keys()].map((id) => 310 + id)));
    ({ client } = await granted.filteredCaller(`table:${name}`, ["select"], FILTER));
    // Repeated queries load the rows into memory.
    for (let asked = 0; asked < 12; asked++) {
      for (const [, query] of queries.slice(0, 5)) await client.query(name, query);
    }
  });

  it.each(queries)("with %s has the filter and nothing about other rows", async (_, query) => {
    for (const plan of [
      await explain(client, query),
      await explain(client, query, true),
      await analyze(client, query),
    ]) {
      expect(plan).toContain("VisibleRowsExec");
      expect(plan).toMatch(/tenant = ('a'|Utf8\("a"\))/);
      // Rows, fragments, segments, other words of the table, its location.
      expect(plan).not.toMatch(/num_fragments|fragments that|rows=(3|2|1)\d\d|tail=|segments=/);
      expect(plan).not.toMatch(/word(?!1\b)|deltas=|uuid=|uri=|Term|TextIndex/);
      expect(plan).not.toContain(joust.root);
    }
  });

  it("analyzed counts the rows of the result only", async () => {
    for (const [, query] of queries) {
      const lines = (await analyze(client, query)).trimEnd().split("\n");
      expect(lines[0]).toMatch(/^AnalyzeExec /);
      const rows = (await client.query(name, query)).numRows;
      expect(lines[1]).toMatch(
        new RegExp(`^ {2}VisibleRowsExec, metrics=\\[output_rows=${rows}, elapsed=[^\\]]+\\]$`),
      );
      for (const line of lines.slice(2)) expect(line).toMatch(/, metrics=\[\]$/);
    }
  });

  it("analyzed counts the rows of several vectors without those that each one skips", async () => {
    const query = {
      vector: [
        [1, 0],
        [0, 1],
      ],
      k: 2,
      offset: 3,
    };
    for (const columns of [["id"], { id: "id", twice: "id * 2" }]) {
      const rows = (await client.query(name, { ...query, columns })).numRows;
      expect(rows).toBe(4);
      expect(await analyze(client, { ...query, columns })).toContain(`[output_rows=${rows}, `);
    }
  });

  it("is refused under the conditions of a query", async () => {
    const calculated = { k: 1, filter: "1 / (id - 1) < 5" };
    const late = { k: 1, vector: [1, 0], filter: "id > 0", prefilter: false };
    for (const query of [calculated, late]) {
      expectFailure(await client.post(path(name, "explain_plan"), { query }), 400, 13);
      expectFailure(await client.post(path(name, "analyze_plan"), query), 400, 13);
    }
    const { client: other } = await granted.filteredCaller(`table:${name}`, ["select"], "gone = 1");
    expectFailure(await other.post(path(name, "explain_plan"), { query: { k: 1 } }), 403, 15);
    expectFailure(await other.post(path(name, "analyze_plan"), { k: 1 }), 403, 15);
  });

  it("keeps all its steps for a caller with all rows", async () => {
    const plan = await explain(joust.client, { vector: [1, 0], filter: "id > 2" });
    expect(plan).not.toContain("VisibleRowsExec");
    expect(plan).toMatch(/num_fragments|deltas=/);
  });
});
