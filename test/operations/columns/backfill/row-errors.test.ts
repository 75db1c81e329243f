import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../../harness/arrow.js";
import { expectFailure } from "../../../harness/expect-failure.js";
import { waitForJobResult } from "../../../harness/jobs.js";
import { setupServer } from "../../../harness/setup-server.js";
import { backfillClient } from "./backfill-client.js";

const joust = setupServer();
const { compute, start, values } = backfillClient(joust);

describe("a row whose value cannot be computed", () => {
  let job: string;
  beforeAll(async () => {
    await joust.client.createTable("bad", items(100));
    await joust.client.insert("bad", items(20, { from: 100 }));
    await compute("bad", "ratio", "100 / (id % 10)");
    const answer = await start("bad", { column: "ratio" });
    job = answer.json.job_id;
  });
  const errors = (body: object = {}) => joust.client.post("/v1/table/bad/errors", body);

  it("becomes null, is counted and does not stop the other rows", async () => {
    expect(await waitForJobResult(joust.client, job)).toMatchObject({
      rows_assigned: 108,
      rows_failed: 12,
    });
    for (const [id, ratio] of await values("bad", "ratio")) {
      expect(ratio === null ? null : Number(ratio)).toBe(
        id % 10 === 0 ? null : Math.trunc(100 / (id % 10)),
      );
    }
  });

  it("is listed with the cause", async () => {
    const { records, fragments, truncated } = (await errors()).json;
    expect(truncated).toBe(false);
    expect(records).toHaveLength(12);
    expect(records[0]).toEqual({
      job_id: job,
      fragment_id: 0,
      row_offset: 0,
      column: "ratio",
      function: "sql",
      function_version: "",
      table_version: 3,
      error_type: "InvalidInput",
      error_message: expect.stringMatching(/divide by zero/i),
      created_at_millis: expect.any(Number),
    });
    expect(fragments).toEqual([
      { job_id: job, fragment_id: 0, rows_skipped: 10, rows_recorded: 10 },
      { job_id: job, fragment_id: 1, rows_skipped: 2, rows_recorded: 2 },
    ]);
    expect((await errors({ limit: 5 })).json).toMatchObject({ truncated: true });
    expect((await errors({ limit: 5 })).json.records).toHaveLength(5);
    expect((await errors({ job_id: job, column: "ratio" })).json.records).toHaveLength(12);
    expect((await errors({ column: "other" })).json.records).toEqual([]);
  });

  it("is listed only for valid requests", async () => {
    expectFailure(await errors({ job_id: "nobody" }), 404, 10);
    expectFailure(await errors({ limit: 0 }), 400, 13, /limit/);
    expectFailure(await errors({ limit: "x" }), 400, 13, /limit/);
    expectFailure(await errors({ column: 3 }), 400, 13, /column/);
    expectFailure(await joust.client.post("/v1/table/missing/errors", {}), 404, 4);
  });
});
