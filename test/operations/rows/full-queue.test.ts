import { describe, expect, it } from "vitest";
import { stream, type } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { s3Missing } from "../../harness/s3.js";
import { setupBucketServer } from "../../harness/setup-bucket-server.js";
import { waitFor } from "../../harness/wait-for.js";

/** Rows of slightly less than the size that is buffered until its commit; 256 MiB of inserts may wait, besides two groups of 64. */
const ROWS = 480_000;
const MANY = 115;

describe.skipIf(s3Missing)("a table whose commits are slower than its inserts", () => {
  const joust = setupBucketServer({ held: true });

  it("rejects inserts that would wait too long with Retry-After and loses no row", {
    timeout: 120_000,
  }, async () => {
    const { proxy } = joust;
    const { client } = joust.server;
    const rows = stream({
      n: [type.i64, Array.from({ length: ROWS }, (_, n) => BigInt(n))],
    });
    const few = stream({ n: [type.i64, [1n]] });
    await client.createTable("t", few);
    await client.createTable("other", few);
    proxy.hold((method, path) => method === "PUT" && /t\.lance\/_versions\//.test(path));
    let answered = 0;
    const sent = Array.from({ length: MANY }, async () => {
      const answer = await client.post("/v1/table/t/insert", rows);
      answered++;
      return answer;
    });
    await waitFor("some are refused", () => answered > 0 && proxy.held() > 0, {
      timeoutMs: 60_000,
    });
    // The queue of one table does not affect another table.
    expect((await client.post("/v1/table/other/insert", few)).status).toBe(200);
    proxy.release();
    const answers = await Promise.all(sent);
    const refused = answers.filter((answer) => answer.status !== 200);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThan(MANY / 2);
    for (const answer of refused) {
      expectFailure(answer, 429, 21, /too many writes wait/);
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect(await client.count("t")).toBe(1 + ROWS * (MANY - refused.length));
    // The queue has space again.
    expect((await client.post("/v1/table/t/insert", few)).status).toBe(200);
  });
});
