import { readdirSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import type { Answer, Json } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { slowText, waitForJob } from "../../harness/jobs.js";
import { setupServer } from "../../harness/setup-server.js";
import { waitFor } from "../../harness/wait-for.js";

const short = setupServer({ args: ["--query-timeout", "250ms", "--view-timeout", "400ms"] });
const usual = setupServer();
const ROWS = 60_000;
/** A condition that is true for all rows after seconds of computation, on many cores too. */
const slow = `${slowText("name", 4)} IS NOT NULL`;

beforeAll(async () => {
  for (const { client } of [short, usual]) {
    await client.createTable("t", items(ROWS, { dimension: 2 }));
  }
});

/** A sample of `/metrics`. */
async function metric(name: string): Promise<number> {
  const { text } = await short.client.get("/metrics");
  const line = text.split("\n").find((line) => line.startsWith(`${name} `));
  return Number(line?.split(" ")[1]);
}

const memoryIsGivenBack = () =>
  waitFor("the memory is given back", async () => {
    const taken = await metric('joust_memory_taken_bytes{by="queries"}');
    return taken === 0;
  });

describe("a query that exceeds --query-timeout", () => {
  const query = (path: string, body: Json): Promise<Answer> =>
    short.client.post(`/v1/table/t/${path}`, body);
  const asked = { k: ROWS, vector: {}, filter: slow };

  it.each<[string, string, Json]>([
    ["a query", "query", asked],
    ["a sorted query", "query", { ...asked, order_by: [{ column_name: "price" }] }],
    ["a vector search", "query", { k: 5, vector: { single_vector: [1, 1] }, filter: slow }],
    ["a count", "count_rows", { predicate: slow }],
    ["an analyze_plan", "analyze_plan", asked],
  ])("ends with an error: %s", async (_, path, body) => {
    const before = await metric("joust_timed_out_total");
    const began = performance.now();
    expectFailure(await query(path, body), 400, 13, /after 250ms of work: .*--query-timeout/);
    expect(performance.now() - began).toBeLessThan(5_000);
    await memoryIsGivenBack();
    expect(await metric("joust_timed_out_total")).toBe(before + 1);
  });

  it("ends with an error: a search in SQL", async () => {
    const statement = `SELECT id FROM vector_search('t', 'vector', [1, 1], 5) WHERE ${slow}`;
    const answer = await short.client.post("/v1/sql", { query: statement });
    expectFailure(answer, 400, 13, /after 250ms of work: .*--query-timeout/);
    await memoryIsGivenBack();
  });

  it("does not affect short queries", async () => {
    expect(await short.client.count("t", { predicate: "id < 10" })).toBe(10);
    expect((await short.client.query("t", { k: 5, vector: {}, filter: "id > 7" })).numRows).toBe(5);
  });

  it("completes on a server without the limit", async () => {
    const rows = await usual.client.query("t", { ...asked, columns: { column_names: ["id"] } });
    expect(rows.numRows).toBe(ROWS);
  }, 60_000);
});

describe("a view refresh that exceeds --view-timeout", () => {
  it("fails and reports the cause", async () => {
    const { client } = short;
    const sql = "SELECT a.id AS x FROM t a CROSS JOIN t b CROSS JOIN t c WHERE b.price > c.price";
    const created = await client.ok("/v1/materialized_view/crossed/create", { query: sql });
    const job = await waitForJob(client, created.job_id);
    expect(job.job_state).toBe("FAILED");
    expect(JSON.stringify(job.failure)).toMatch(/after 400ms of work: .*--view-timeout/);
    expect((await client.query("crossed", { vector: {} })).numRows).toBe(0);
  }, 60_000);
});

describe.skipIf(process.platform !== "linux")("query planning", () => {
  /** Planning threads of the server. */
  const threads = (): number =>
    readdirSync(`/proc/${usual.server.pid}/task`).filter(
      (id) =>
        readFileSync(`/proc/${usual.server.pid}/task/${id}/comm`, "utf8").trim() === "joust-plan",
    ).length;

  it("runs on its own threads and is skipped for queries answered from memory", async () => {
    const { client } = usual;
    const send = (filter: string) => client.query("t", { k: 3, vector: {}, filter });
    for (let time = 0; time < 12; time++) await send("id = 7");
    // Idle threads end after 10 s.
    await waitFor("no plan is made", () => threads() === 0, { timeoutMs: 30_000 });
    for (let time = 0; time < 50; time++) await send("id = 7");
    expect(threads()).toBe(0);
    await send("upper(name) = 'ITEM 9'");
    expect(threads()).toBe(1);
    await Promise.all(Array.from({ length: 200 }, (_, at) => send(`upper(name) = 'ITEM ${at}'`)));
    expect(threads()).toBeGreaterThan(0);
    expect(threads()).toBeLessThanOrEqual(Math.max(16, 2 * 64));
  }, 60_000);
});
