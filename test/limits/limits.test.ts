import { describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import type { Answer, Client } from "../harness/client.js";
import { slowExpression, waitForJob } from "../harness/jobs.js";
import { waitFor } from "../harness/wait-for.js";
import { countStatuses, expectRefusal, setupLimitedServer, variants } from "./limited-server.js";

/** So few that no request is admitted again during a test. */
const RARELY = 1e-4;

/** A statement that runs for minutes. */
const endless =
  "SELECT count(*) AS n FROM big a CROSS JOIN big b CROSS JOIN big c WHERE a.price + b.price < c.price";

/** Sends a query until it runs, and to its end: a request that looks for its effect may have taken its place. */
async function untilAdmitted(send: () => Promise<Answer>): Promise<void> {
  for (;;) {
    const answer = await send().catch(() => undefined);
    if (answer?.status !== 429) return;
  }
}

describe.each(variants)("limits with --http %s and --http-threads %s", (http, threads) => {
  const limited = setupLimitedServer(http, threads);
  const refused = (scope: string, limit: string) =>
    limited.metric(`joust_limit_refused_total{scope="${scope}",limit="${limit}"}`);
  /** Sends requests at once, over as many connections. */
  const burst = (count: number, send: () => Promise<Answer>) =>
    Promise.all(Array.from({ length: count }, send));

  it("admit the burst of a key and refuse the rest, without an effect on other keys", async () => {
    await limited.setLimits({ keys: { read: { requests_per_second: RARELY, burst: 5 } } });
    const before = await refused("caller", "requests_per_second");
    const answers = await burst(40, () => limited.reader.post("/v1/namespace/$/list"));
    expect(countStatuses(answers)).toEqual({ 200: 5, 429: 35 });
    const answer = answers.find(({ status }) => status === 429) as Answer;
    expectRefusal(answer, "requests_per_second", /the key \\"read\\" exceeds 0.0001 requests per/);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(9_000);
    expect(await refused("caller", "requests_per_second")).toBe(before + 35);
    const others = await burst(20, () => limited.writer.post("/v1/namespace/$/list"));
    expect(countStatuses(others)).toEqual({ 200: 20 });
    // Also requests that no route serves, and in the dialect of the LanceDB SDKs.
    expect((await limited.reader.get("/v1/nowhere")).status).toBe(429);
    expectRefusal(await limited.reader.get("/v1/table/"), "requests_per_second", /limit/);
  });

  it("hold by role and by namespace, with all namespaces below it", async () => {
    await limited.client.createNamespace("rated");
    await limited.client.createNamespace("rated$below");
    await limited.setLimits({
      roles: { write: { requests_per_second: RARELY, burst: 7 } },
      namespaces: { rated: { requests_per_second: RARELY, burst: 3 } },
    });
    const answers = await burst(10, () => limited.client.post("/v1/table/rated$below$t/exists"));
    expect(countStatuses(answers)).toEqual({ 404: 3, 429: 7 });
    const inBody = await limited.client.post("/v1/namespace/rated/describe");
    expectRefusal(inBody, "requests_per_second", /the namespace \\"rated\\" exceeds/);
    const delimited = await limited.client.post("/v1/table/rated.t/exists", {}, { delimiter: "." });
    expect(delimited.status).toBe(429);
    expect((await limited.client.post("/v1/table/t/exists")).status).toBe(404);
    const written = await burst(20, () => limited.writer.post("/v1/namespace/$/list"));
    expect(countStatuses(written)).toEqual({ 200: 7, 429: 13 });
  });

  it("bound the queries that run at a time", async () => {
    await limited.setLimits({});
    await limited.client.createTable("big", items(20_000, { dimension: 2 }));
    const limits = { read: { concurrent_queries: 2 }, write: { concurrent_queries: 1 } };
    await limited.setLimits({ keys: limits });
    const stop = new AbortController();
    const run = (client: Client) =>
      untilAdmitted(() =>
        client.request("/v1/sql", { body: { query: endless }, signal: stop.signal }),
      );
    const running = [run(limited.reader), run(limited.reader)];
    const count = () => limited.reader.post("/v1/table/big/count_rows");
    const full = await waitFor("both queries run", async () => {
      const answer = await count();
      return answer.status === 429 && answer;
    });
    expectRefusal(full, "concurrent_queries", /the key \\"read\\" already runs 2 queries/);
    // Changes that read the table are queries, too.
    running.push(run(limited.writer));
    const update = { updates: [["price", "price + 1"]] };
    for (const [path, body] of [
      ["update", update],
      ["delete", { predicate: "id < 0" }],
      ["merge_insert?on=id&when_matched_update_all=true", items(1)],
      ["add_columns", { new_columns: [{ name: "more", expression: "id + 1" }] }],
    ] as const) {
      const answer = await waitFor(`${path} is refused`, async () => {
        const answer = await limited.writer.post(`/v1/table/big/${path}`, body);
        return answer.status !== 200 && answer;
      });
      expectRefusal(answer, "concurrent_queries", /the key \\"write\\" already runs 1 queries/);
    }
    // Other requests of the caller, and other callers, are not queries of it.
    expect((await limited.reader.post("/v1/table/big/exists")).status).toBe(200);
    expect((await limited.client.post("/v1/table/big/count_rows")).status).toBe(200);
    stop.abort();
    await Promise.all(running);
    await waitFor("the queries have ended", async () => (await count()).status === 200);
    const later = await burst(30, count);
    expect(later.some(({ status }) => status === 200)).toBe(true);
    for (let n = 0; n < 10; n++) expect((await count()).status).toBe(200);
  }, 60_000);

  it("bound the bytes of uploads, short and streamed", async () => {
    await limited.setLimits({});
    await limited.client.createTable("uploads", items(1));
    const rows = async () => limited.client.count("uploads");
    const limit = { upload_bytes_per_second: 1, upload_burst_bytes: 10_000 };
    const short = items(50);
    const long = items(3_000);
    expect([short.length < 10_000, long.length > 64 * 1024]).toEqual([true, true]);
    await limited.setLimits({ keys: { write: limit } });
    const insert = (body: Uint8Array) => limited.writer.post("/v1/table/uploads/insert", body);
    expect((await insert(short)).status).toBe(200);
    // The bucket is not empty, so a longer body is admitted; those after it wait until its bytes are paid.
    expect((await insert(long)).status).toBe(200);
    const before = await rows();
    for (const body of [short, long]) {
      const answer = await insert(body);
      expectRefusal(answer, "upload_bytes_per_second", /exceeds 1 upload bytes per second/);
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(long.length - 20_000);
    }
    expect(await rows()).toBe(before);
    // Requests without an upload are not limited.
    expect((await limited.writer.post("/v1/table/uploads/exists")).status).toBe(200);
  });

  it("bound the uploads and the queries of a namespace, for all callers together", async () => {
    await limited.setLimits({});
    await limited.client.createNamespace("shared");
    await limited.client.createTable("shared$t", items(20_000, { dimension: 2 }));
    const upload = { upload_bytes_per_second: 1, upload_burst_bytes: 10_000 };
    await limited.setLimits({ namespaces: { shared: { ...upload, concurrent_queries: 1 } } });
    const insert = (client: Client) =>
      client.post("/v1/table/shared$t/insert", items(3_000, { dimension: 2 }));
    expect((await insert(limited.writer)).status).toBe(200);
    const refused = await insert(limited.client);
    expectRefusal(
      refused,
      "upload_bytes_per_second",
      /the namespace \\"shared\\" exceeds 1 upload/,
    );
    const stop = new AbortController();
    const slow = {
      predicate: `concat(${Array(60).fill(slowExpression("name")).join(", ")}) = 'x'`,
    };
    const path = "/v1/table/shared$t/count_rows";
    const running = untilAdmitted(() =>
      limited.reader.request(path, { body: slow, signal: stop.signal }),
    );
    const full = await waitFor("the query runs", async () => {
      const answer = await limited.client.post(path);
      return answer.status === 429 && answer;
    });
    expectRefusal(full, "concurrent_queries", /the namespace \\"shared\\" already runs 1 quer/);
    stop.abort();
    await running;
    await limited.setLimits({});
  }, 60_000);

  it("count rows that SQL statements write at once", async () => {
    await limited.client.createNamespace("sql");
    await limited.setLimits({ namespaces: { sql: { rows: 100 } } });
    const send = (query: string) => limited.writer.post("/v1/sql", { query });
    expect((await limited.writer.post("/v1/table/sql$a/create", items(60))).status).toBe(200);
    expect((await send("INSERT INTO sql.a SELECT * FROM sql.a")).status).toBe(200);
    const refused = await send("INSERT INTO sql.a SELECT * FROM sql.a");
    expectRefusal(refused, "rows", /the namespace \\"sql\\" is full: it has 120 of 100 rows/);
    expect(await limited.client.count("sql$a")).toBe(120);
  });

  it("end the rows that a SQL statement writes from a query beyond the free bytes", async () => {
    await limited.setLimits({});
    await limited.client.createNamespace("written");
    await limited.client.createTable("source", items(20_000));
    await limited.setLimits({ namespaces: { written: { bytes: 200_000 } } });
    const send = (query: string) => limited.writer.post("/v1/sql", { query });
    const created = await send("CREATE TABLE written.a AS SELECT * FROM source");
    expectRefusal(created, "bytes", /is full: the rows are larger than its free bytes/);
    expect((await send("CREATE TABLE written.a AS SELECT * FROM source LIMIT 200")).status).toBe(
      200,
    );
    const inserted = await send("INSERT INTO written.a SELECT * FROM source");
    expectRefusal(inserted, "bytes", /is full: the rows are larger than its free bytes/);
    expect(await limited.client.count("written$a")).toBe(200);
  });

  it("bound the rows of a namespace whose name contains the default delimiter", async () => {
    const delimiter = { delimiter: "." };
    await limited.client.ok("/v1/namespace/x%24y/create", {}, delimiter);
    await limited.setLimits({ defaults: { namespace: { rows: 50 } } });
    const path = "/v1/table/x%24y.t";
    const { writer } = limited;
    expect((await writer.post(`${path}/create`, items(60), delimiter)).status).toBe(200);
    const refused = await writer.post(`${path}/insert`, items(1), delimiter);
    expectRefusal(refused, "rows", /is full: it has 60 of 50 rows/);
  });

  it("bound the rows of a namespace, and admit rows again after a deletion", async () => {
    await limited.client.createNamespace("rows");
    await limited.client.createNamespace("rows$deep");
    await limited.setLimits({ namespaces: { rows: { rows: 100 } } });
    expect((await limited.writer.post("/v1/table/rows$a/create", items(60))).status).toBe(200);
    expect((await limited.writer.post("/v1/table/rows$deep$b/create", items(30))).status).toBe(200);
    expect((await limited.writer.post("/v1/table/rows$a/insert", items(20))).status).toBe(200);
    for (const path of ["rows$a/insert", "rows$deep$b/insert", "rows$c/create"]) {
      const answer = await limited.writer.post(`/v1/table/${path}`, items(1));
      expectRefusal(answer, "rows", /the namespace \\"rows\\" is full: it has 110 of 100 rows/);
    }
    expect((await limited.writer.post("/v1/table/other/create", items(1))).status).toBe(200);
    // What adds no rows is admitted.
    expect(
      await limited.writer.ok("/v1/table/rows$a/delete", { predicate: "id < 40" }),
    ).toBeDefined();
    await waitFor("the deletion counts", async () => {
      const answer = await limited.writer.post("/v1/table/rows$deep$b/insert", items(1));
      return answer.status === 200;
    });
    await limited.writer.ok("/v1/table/other/drop");
  });

  it("bound the bytes of a namespace, also while a body arrives", async () => {
    await limited.client.createNamespace("bytes");
    await limited.setLimits({ namespaces: { bytes: { bytes: 200_000 } } });
    expect((await limited.writer.post("/v1/table/bytes$a/create", items(200))).status).toBe(200);
    const long = items(20_000);
    expect(long.length).toBeGreaterThan(200_000);
    const answer = await limited.writer.post("/v1/table/bytes$a/insert", long);
    expectRefusal(answer, "bytes", /is full: the rows are larger than its free bytes/);
    expect(await limited.client.count("bytes$a")).toBe(200);
    await limited.setLimits({ namespaces: { bytes: { bytes: 1_000 } } });
    const full = await limited.writer.post("/v1/table/bytes$a/insert", items(1));
    expectRefusal(full, "bytes", /is full: it has \d+ of 1000 bytes/);
  });

  it("bound the queued and running jobs of a caller and of a namespace", async () => {
    await limited.setLimits({});
    await limited.client.createNamespace("jobs");
    await limited.client.createTable("jobs$t", items(60_000, { dimension: 2 }));
    // Takes far longer than the test. A longer expression could exceed the time limit of planning on a busy machine.
    const computed = `concat(${Array(30).fill(slowExpression("name")).join(", ")})`;
    for (const name of ["c", "d"]) {
      await limited.client.ok("/v1/table/jobs$t/add_columns", {
        new_columns: [{ name, computed }],
      });
    }
    const fill = (column: string, by = limited.writer) =>
      by.post("/v1/table/jobs$t/backfill_column", { column });
    await limited.setLimits({ keys: { write: { jobs: 1 } } });
    const before = await refused("caller", "jobs");
    const first = await fill("c");
    expect([first.status, first.text]).toEqual([202, expect.stringContaining("job_id")]);
    const second = await fill("d");
    expectRefusal(second, "jobs", /the key \\"write\\" already has 1 queued or running jobs/);
    expect(await refused("caller", "jobs")).toBe(before + 1);
    const bySql = await limited.writer.post("/v1/sql", {
      query: "CREATE INDEX id_idx ON jobs.t USING btree (id)",
    });
    expectRefusal(bySql, "jobs", /the key \\"write\\" already has 1 queued or running jobs/);
    await limited.setLimits({ namespaces: { jobs: { jobs: 1 } } });
    const other = await fill("d");
    expect(other.status).toBe(202);
    const third = await fill("c", limited.client);
    expectRefusal(third, "jobs", /the namespace \\"jobs\\" already has 1 queued or running jobs/);
    for (const { json } of [first, other]) {
      await limited.client.ok("/v1/jobs/cancel", { job_id: json.job_id });
      await waitForJob(limited.client, json.job_id);
    }
    const index = { column: "id", index_type: "BTREE" };
    const built = await limited.writer.ok("/v1/table/jobs$t/create_index", index);
    await waitForJob(limited.client, built.transaction_id);
    expect((await fill("d")).status).toBe(202);
    // On a busy machine the index build has taken a minute after the cancelled backfill.
  }, 180_000);
});
