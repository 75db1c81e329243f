import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import type { Json } from "../../harness/client.js";
import { waitForIndex } from "../../harness/indexes.js";
import { setupServer } from "../../harness/setup-server.js";
import { textIndex } from "./text/text-tables.js";

/** Query rows are in memory on the second server and never on the first. */
const lance = setupServer({ args: ["--row-cache", "0", "--maintenance", "off"] });
const joust = setupServer({ args: ["--row-cache", "256MiB", "--maintenance", "off"] });
const servers = [
  ["Lance", lance],
  ["joust", joust],
] as const;

const vector = Array(8).fill(0.5);
/** Members that the LanceDB SDKs send. */
const base = { version: null, prefilter: true, k: 10, vector: [] as unknown };
const filter = "id = 1";

beforeAll(async () => {
  for (const [, { client }] of servers) {
    await client.createTable("t", items(300));
    await client.createTable("indexed", items(300));
    const index = { column: "vector", index_type: "IVF_FLAT", num_partitions: 2 };
    await client.ok("/v1/table/indexed/create_index", index);
    await waitForIndex(client, "indexed", "vector_idx");
    await client.insert("indexed", items(20, { from: 300 }));
    await textIndex(client, "t", { column: "name" });
    // Repeated queries load the rows into memory.
    for (let asked = 0; asked < 12; asked++) {
      await client.query("t", { ...base, vector });
      await client.query("indexed", { ...base, vector });
    }
  }
});

/** Tools search for these words in the plans of both engines. */
describe.each(servers)("the plan of a query executed by %s", (name, server) => {
  const explain = (id: string, query: Json): Promise<string> =>
    server.client.ok(`/v1/table/${id}/explain_plan/`, {
      query: { ...base, ...query },
      verbose: true,
    });
  const analyze = (id: string, query: Json): Promise<string> =>
    server.client.ok(`/v1/table/${id}/analyze_plan/`, { ...base, ...query });
  const own = (plan: string) => expect(plan.includes("in memory")).toBe(name === "joust");

  it("names the exhaustive vector search and its input", async () => {
    const plan = await explain("t", { vector, filter, k: 1, offset: 1 });
    own(plan);
    expect(plan).toMatch(/KNNVectorDistance: metric=l2/);
    expect(plan).toMatch(/LanceRead: /);
    expect(plan).toContain("full_filter=id = Int64(1)");
    expect(plan).toContain("GlobalLimitExec: skip=1, fetch=1");
  });

  it("names the index and the rows without index coverage", async () => {
    const plan = await explain("indexed", { vector });
    own(plan);
    expect(plan).toMatch(/ANNSubIndex: name=vector_idx, k=10, deltas=1, metric=L2/);
    expect(plan).toMatch(/ANNIvfPartition: /);
    expect(plan).toMatch(/LanceScan: /);
    expect(await explain("indexed", { vector, fast_search: true })).not.toContain("LanceScan");
    const bypassed = await explain("indexed", { vector, bypass_vector_index: true });
    expect(bypassed).toContain("KNNVectorDistance");
    expect(bypassed).not.toContain("ANN");
  });

  it("names text searches", async () => {
    const full_text_query = { columns: ["name"], query: "item" };
    const plan = await explain("t", { full_text_query, filter, k: 1, offset: 1 });
    expect(plan).toContain("MatchQuery: column=name, query=[item]");
    expect(plan).toContain("GlobalLimitExec: skip=1, fetch=1");
    expect(plan).toContain("full_filter=id = Int64(1)");
    expect(plan).toContain("LanceRead");
  });

  it("names the scan of rows", async () => {
    for (let asked = 0; asked < 12; asked++) await server.client.query("t", { ...base, filter });
    const plan = await explain("t", { filter, columns: ["name"] });
    expect(plan).toMatch(/LanceRead: .*full_filter=id = Int64\(1\)/);
  });

  it("starts its analysis with AnalyzeExec and has metrics on every line", async () => {
    for (const query of [
      { vector },
      { vector, filter },
      { filter },
      { full_text_query: { columns: ["name"], query: "item" } },
    ]) {
      const analysis = await analyze("t", query);
      expect(analysis).toMatch(/^AnalyzeExec /);
      expect(analysis).toMatch(/metrics=\[output_rows=\d+/);
      for (const line of analysis.trimEnd().split("\n")) expect(line).toContain("metrics=[");
    }
  });
});
