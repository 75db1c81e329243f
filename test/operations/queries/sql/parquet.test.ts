import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../../harness/arrow.js";
import type { Answer } from "../../../harness/client.js";
import { expectFailure } from "../../../harness/expect-failure.js";
import { setupServer } from "../../../harness/setup-server.js";
import { sqlClient } from "./sql-client.js";

const PARQUET = "application/vnd.apache.parquet";
const joust = setupServer();
const { send, sendOk } = sqlClient(joust);

beforeAll(() => joust.client.createTable("t", items(1_000)));

/** Checks the frame of a file and returns the length of its footer. The Python tests read the rows. */
function footerBytes({ bytes }: Answer): number {
  const file = Buffer.from(bytes);
  expect(file.subarray(0, 4).toString()).toBe("PAR1");
  expect(file.subarray(-4).toString()).toBe("PAR1");
  const footer = file.readUInt32LE(file.length - 8);
  expect(footer).toBeGreaterThan(0);
  expect(footer).toBeLessThan(file.length - 11);
  return footer;
}

describe("a Parquet reply", () => {
  it("is a complete file with its media type", async () => {
    const answer = await sendOk({ query: "SELECT * FROM t ORDER BY id" }, PARQUET);
    expect(answer.headers.get("content-type")).toBe(PARQUET);
    footerBytes(answer);
  });

  it("is a complete file without rows, for a plan and for a statement that changes something", async () => {
    for (const query of [
      "SELECT id, name FROM t WHERE false",
      "EXPLAIN SELECT id FROM t",
      "UPDATE t SET price = 1.5 WHERE id = 3",
      "CREATE SCHEMA made_with_parquet",
    ]) {
      footerBytes(await sendOk({ query }, PARQUET));
    }
  });

  it("streams several row groups", async () => {
    const query =
      "SELECT a.id * 1000 + b.id AS id, sha256(CAST(a.id * 1000 + b.id AS TEXT)) AS hash FROM t a, t b";
    const all = await sendOk({ query }, PARQUET);
    const one = await sendOk({ query, limit: 1_000 }, PARQUET);
    expect(all.bytes.length).toBeGreaterThan(32_000_000);
    expect(footerBytes(all)).toBeGreaterThan(footerBytes(one));
  });

  it.each<[string, RegExp]>([
    ["INTERVAL '1 month 2 days' AS v", /cannot hold the column `v`.*intervals.*CAST/],
    ["[INTERVAL '1 month 2 days'] AS v", /cannot hold the column `v`/],
    ["a.id, b.id FROM t a JOIN t b ON a.id = b.id", /two columns `id`.*AS/],
  ])("rejects SELECT %s", async (columns, wanted) => {
    expectFailure(await send({ query: `SELECT ${columns}` }, PARQUET), 400, 13, wanted);
  });
});
