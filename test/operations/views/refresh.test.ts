import { beforeAll, describe, expect, it } from "vitest";
import { items, stream, type } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { slowExpression, waitForJob, waitForJobResult } from "../../harness/jobs.js";
import { setupServer } from "../../harness/setup-server.js";
import { waitFor } from "../../harness/wait-for.js";
import { viewClient } from "./view-client.js";

const joust = setupServer();
const { byQuery, column, refresh, refreshed, view } = viewClient(joust);

beforeAll(async () => {
  await joust.client.createNamespace("ns");
  await joust.client.createTable("t", items(100));
  await joust.client.createTable("ns$Items", items(50));
});

describe("a view refresh", () => {
  it("is one job if it is requested twice while it waits", async () => {
    await byQuery("once", "SELECT id FROM t");
    const answers = await Promise.all(Array.from({ length: 10 }, () => refresh("once")));
    const ids = new Set(answers.map((answer) => answer.json.job_id));
    expect(ids.size).toBeLessThan(10);
    for (const id of ids) await waitForJobResult(joust.client, id);
  });

  it("requested after a write reads that write, even if another refresh is running", async () => {
    await joust.client.createTable("growing", items(60_000));
    const first = (await byQuery("late", `SELECT id, ${slowExpression("name")} AS c FROM growing`))
      .json;
    await waitFor("it runs", async () => {
      const { job_state } = await joust.client.ok("/v1/jobs/describe", first);
      return job_state === "IN_PROGRESS";
    });
    // The first refresh has opened the table by then.
    await new Promise((resolve) => setTimeout(resolve, 200));
    await joust.client.insert("growing", items(1, { from: 60_000 }));
    const answers = await Promise.all(Array.from({ length: 5 }, () => refresh("late")));
    const ids = new Set(answers.map((answer) => answer.json.job_id));
    expect(ids.size).toBe(1);
    expect(ids).not.toContain(first.job_id);
    for (const id of ids) await waitForJobResult(joust.client, id);
    expect(await joust.client.count("late")).toBe(60_001);
  }, 30_000);

  it("fails with the cause if a source table was dropped and keeps the existing rows", async () => {
    await joust.client.createTable("doomed", items(10));
    await view("orphan", "SELECT id FROM doomed");
    await joust.client.ok("/v1/table/doomed/drop", {});
    const { job_id } = (await refresh("orphan")).json;
    expect(await waitForJob(joust.client, job_id)).toMatchObject({
      job_state: "FAILED",
      failure: { message: expect.stringContaining("doomed"), retryable: false },
    });
    expect(await joust.client.count("orphan")).toBe(10);
    // A new table with that name is used.
    await joust.client.createTable("doomed", items(3));
    await refreshed("orphan");
    expect(await joust.client.count("orphan")).toBe(3);
  });

  it("fails if the columns have changed", async () => {
    await joust.client.createTable("shifting", items(10));
    await view("star", "SELECT * FROM shifting");
    await joust.client.ok("/v1/table/shifting/drop_columns", { columns: ["price"] });
    const { job_id } = (await refresh("star")).json;
    expect(await waitForJob(joust.client, job_id)).toMatchObject({
      job_state: "FAILED",
      failure: { message: expect.stringMatching(/columns .*create it again/) },
    });
    expect(await joust.client.count("star")).toBe(10);
  });

  it("fails on values that the query cannot process", async () => {
    await joust.client.createTable("zeros", stream({ x: [type.i64, [1n, 2n]] }));
    await view("ratio", "SELECT 10 / x AS y FROM zeros");
    await joust.client.insert("zeros", stream({ x: [type.i64, [0n]] }));
    const { job_id } = (await refresh("ratio")).json;
    expect(await waitForJob(joust.client, job_id)).toMatchObject({
      job_state: "FAILED",
      failure: { message: expect.stringMatching(/divide by zero/i) },
    });
    expect(await column("ratio", "y")).toEqual([10, 5]);
  });

  it("is rejected for a table that is not a view", async () => {
    expectFailure(await refresh("t"), 409, 19, /not a materialized view/);
    expectFailure(await joust.client.post("/v1/table/t/refresh", {}), 409, 19, /not a/);
    expectFailure(await joust.client.post("/v1/table/t/refresh/", {}), 400, 19, /not a/);
    expectFailure(await refresh("missing"), 404, 4);
    expectFailure(await refresh("no$view"), 404, 1);
  });

  it.each<[object, number, number, RegExp]>([
    [{ src_version: 99 }, 404, 11, /99/],
    [{ src_version: -1 }, 400, 13, /src_version/],
    [{ src_version: 2 ** 60 }, 404, 11, /version/],
    [{ src_version: "1" }, 400, 13, /src_version/],
    [{ source_version: 99 }, 404, 11, /99/],
    [{ source_version: 1, src_version: 2 }, 400, 13, /source_version/],
    [{ full: 1 }, 400, 13, /full/],
    [{ max_rows_per_fragment: 0 }, 400, 13, /max_rows_per_fragment/],
    [{ max_rows_per_fragment: 1.5 }, 400, 13, /max_rows_per_fragment/],
    [{ concurrency: 0 }, 400, 13, /concurrency/],
    [{ concurrency: "x" }, 400, 13, /concurrency/],
    [{ intra_applier_concurrency: "x" }, 400, 13, /intra_applier_concurrency/],
    [{ source_task_size: true }, 400, 13, /source_task_size/],
    [{ cluster: 1 }, 400, 13, /cluster/],
    [{ manifest: 1 }, 400, 13, /manifest/],
    [{ output_limit: 5 }, 400, 13, /output_limit/],
  ])("rejects %o", async (body, status, code, detail) => {
    const known = await joust.client.post("/v1/table/simple/exists");
    if (known.status === 404) await view("simple", "SELECT id FROM t");
    expectFailure(await refresh("simple", body), status, code, detail);
  });

  it("leaves nothing if its view is dropped while it runs", async () => {
    for (let round = 0; round < 30; round++) {
      const made = await byQuery("brief", "SELECT id, name FROM t");
      expect([made.status, made.text]).toEqual([202, made.text]);
      await new Promise((resolve) => setTimeout(resolve, round));
      await joust.client.ok("/v1/materialized_view/brief/drop", {});
      expectFailure(await joust.client.post("/v1/table/brief/describe"), 404, 4);
    }
  }, 60_000);

  it("from a version requires a view with one source table", async () => {
    await view("pair", "SELECT t.id FROM t JOIN ns.Items i ON t.id = i.id");
    expectFailure(await refresh("pair", { src_version: 1 }), 400, 13, /reads 2/);
    await view("nothing", "SELECT 1 AS one");
    expectFailure(await refresh("nothing", { src_version: 1 }), 400, 13, /reads 0/);
  });
});
