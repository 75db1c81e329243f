import { rmSync } from "node:fs";
import { join } from "node:path";
import { tableFromIPC } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { waitFor } from "../../harness/wait-for.js";

const joust = setupServer();
const jobs = (what: string, body: object = {}) => joust.client.post(`/v1/jobs/${what}`, body);
const describeJob = async (job_id: string) => (await jobs("describe", { job_id })).json;

async function build(name: string, index: object = {}): Promise<string> {
  const body = { column: "price", index_type: "BTREE", name, ...index };
  return (await joust.client.ok("/v1/table/t/create_index", body)).transaction_id;
}

async function ended(id: string): Promise<ReturnType<typeof describeJob>> {
  return waitFor("the job's end", async () => {
    const job = await describeJob(id);
    return ["DONE", "FAILED", "CANCELLED"].includes(job.job_state) && job;
  });
}

let done: string;
beforeAll(async () => {
  await joust.client.createTable("t", items(300));
  done = await build("first");
  await ended(done);
});

describe("the jobs API", () => {
  it("describes a job", async () => {
    const job = await describeJob(done);
    expect(job).toMatchObject({
      job_id: done,
      job_type: "index_build",
      job_state: "DONE",
      spec: { column: "price", name: "first" },
      result: {},
    });
    expect(Math.abs(Date.now() - job.creation_ms)).toBeLessThan(60_000);
    expect(job.failure).toBeUndefined();
  });

  it("uses the job id that create_index returns to LanceDB SDKs", async () => {
    const body = { column: "id", index_type: "BTREE", name: "sdk" };
    const { job_id } = await joust.client.ok("/v1/table/t/create_index/", body);
    expect(await ended(job_id)).toMatchObject({ job_id, job_state: "DONE" });
  });

  it("shows why a job failed in its description and in the listing", async () => {
    const { location } = await joust.client.createTable("broken", items(20));
    // The manifest suffices to plan the index; the missing rows fail the build.
    rmSync(join(location, "data"), { recursive: true });
    const body = { column: "id", index_type: "BTREE" };
    const { transaction_id: id } = await joust.client.ok("/v1/table/broken/create_index", body);
    const job = await ended(id);
    expect(job.job_state).toBe("FAILED");
    expect(job.failure).toEqual({
      phase: expect.stringMatching(/\w/),
      message: expect.stringMatching(/\w/),
      retryable: expect.any(Boolean),
    });
    const listed = (await jobs("list")).json.jobs.find(
      (one: { job_id: string }) => one.job_id === id,
    );
    expect(listed).toMatchObject({ state: "FAILED", error: job.failure.message });
  });

  it("pauses, resumes and cancels a job", async () => {
    const id = await build("paused", { column: "name" });
    const paused = (await jobs("pause", { job_id: id })).json;
    if (!paused.paused) return expect((await describeJob(id)).job_state).toBe("DONE");
    expect(paused).toEqual({ paused: true, committing: false });
    expect((await describeJob(id)).job_state).toBe("PAUSED");
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await describeJob(id)).job_state).toBe("PAUSED");
    expect((await jobs("resume", { job_id: id })).json).toEqual({
      resumed: true,
      still_pausing: false,
    });
    expect((await ended(id)).job_state).toBe("DONE");
    expect((await jobs("pause", { job_id: id })).json).toEqual({
      paused: false,
      committing: false,
    });
    expect((await jobs("resume", { job_id: id })).json.resumed).toBe(false);
    expect((await jobs("cancel", { job_id: id })).json).toEqual({ job_id: id, job_state: "DONE" });
  });

  it("cancels a waiting job", async () => {
    const id = await build("cancelled", { column: "name" });
    await jobs("pause", { job_id: id });
    const { job_state } = (await jobs("cancel", { job_id: id })).json;
    expect(["CANCELLED", "DONE"]).toContain(job_state);
    expect((await describeJob(id)).job_state).toBe(job_state);
  });

  it("returns the events of a job as an Arrow stream", async () => {
    const answer = await jobs("query_events", { job_id: done });
    expect(answer.headers.get("content-type")).toBe("application/vnd.apache.arrow.stream");
    const events = tableFromIPC(answer.bytes);
    expect(events.schema.fields.map((field) => field.name)).toEqual([
      "job_id",
      "timestamp",
      "event",
      "stage",
      "completed",
      "total",
      "message",
    ]);
    expect([...(events.getChild("event") ?? [])]).toEqual(["QUEUED", "DONE"]);
    expect(
      tableFromIPC((await jobs("query_events", { job_id: done, limit: 1 })).bytes).numRows,
    ).toBe(1);
    expectFailure(await jobs("query_events", { job_id: done, filter: "stage = 'x'" }), 406, 0);
    expectFailure(await jobs("query_events", { job_id: done, limit: 0 }), 400, 13);
  });

  it("returns 404 for a missing job", async () => {
    for (const what of ["describe", "cancel", "pause", "resume", "query_events"]) {
      expectFailure(await jobs(what, { job_id: "nobody" }), 404, 10);
      expectFailure(await jobs(what), 400, 13, /job_id/);
    }
  });
});

describe("the job listing", () => {
  it("is paged newest first", async () => {
    const all = (await jobs("list")).json.jobs;
    expect(all.length).toBeGreaterThan(2);
    expect(all.at(-1)).toMatchObject({
      job_id: done,
      table: "t",
      job_type: "index_build",
      state: "DONE",
      created_at_millis: expect.any(Number),
    });
    const seen: object[] = [];
    let page_token: string | undefined;
    do {
      const page = (await jobs("list", { limit: 2, page_token })).json;
      expect(page.jobs.length).toBeLessThanOrEqual(2);
      seen.push(...page.jobs);
      page_token = page.page_token;
    } while (page_token);
    expect(seen).toEqual(all);
  });

  it("rejects forged tokens and invalid limits", async () => {
    expectFailure(await jobs("list", { page_token: "x" }), 400, 13, /page_token/);
    expectFailure(await jobs("list", { limit: 0 }), 400, 13, /limit/);
  });
});
