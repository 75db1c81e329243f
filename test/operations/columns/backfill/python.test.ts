import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { items } from "../../../harness/arrow.js";
import { waitForJob } from "../../../harness/jobs.js";
import { setupServer } from "../../../harness/setup-server.js";
import { backfillClient } from "./backfill-client.js";

const joust = setupServer();
const { start } = backfillClient(joust);

describe("a column computed by a Python function", () => {
  it("has no backfill on a server without functions, which never loads its payload", async () => {
    await joust.client.createTable("python", items(10));
    const marker = join(joust.root, "unpickled");
    // Unpickling this payload would create the file.
    const pickle = `cos\nsystem\n(S'touch ${marker}'\ntR.`;
    await joust.client.ok("/v1/table/python/add_columns", {
      new_columns: [
        {
          name: "score",
          virtual_column: {
            input_columns: ["id"],
            data_type: { type: "float32" },
            udf: Buffer.from(pickle).toString("base64"),
            udf_name: "scorer",
          },
        },
      ],
    });
    const answer = await start("python", { column: "score" });
    expect(answer.status).toBe(202);
    const job = await waitForJob(joust.client, answer.json.job_id);
    expect(job).toMatchObject({
      job_state: "FAILED",
      failure: {
        message: expect.stringMatching(
          /`score`.*`scorer`.*runs no functions.*--functions subprocess/,
        ),
        retryable: false,
      },
    });
    expect(existsSync(marker)).toBe(false);
    const { status, properties } = await joust.client.ok(
      `/v1/transaction/${answer.json.job_id}/describe`,
    );
    expect(status).toBe("Failed");
    expect(properties.error).toBe(job.failure.message);
    expect(await joust.client.count("python", { predicate: "score is null" })).toBe(10);
  });
});
