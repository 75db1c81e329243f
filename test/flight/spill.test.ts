import { expect, it, onTestFinished } from "vitest";
import { items } from "../harness/arrow.js";
import { FlightClient } from "../harness/flight-client.js";
import { startServerForTest } from "../harness/setup-server.js";
import { sqlPort } from "./sql-port.js";

/** Rows of the table, and of the sorted result. */
const ROWS = 2_000;
const GROUPS = 600;
const SORTED = ROWS * GROUPS;

const SORT = `SELECT a.id + 0 AS i, b.id + 0 AS j, a.name || b.name || a.name AS names
  FROM t AS a CROSS JOIN t AS b WHERE b.id < ${GROUPS} ORDER BY j DESC, i`;

async function sort(...args: readonly string[]) {
  const server = await startServerForTest({ args: ["--memory", "256MiB", ...args] });
  await server.client.createTable("t", items(ROWS));
  const flight = new FlightClient(`http://127.0.0.1:${sqlPort(server)}`, server.key);
  onTestFinished(() => flight.close());
  return flight.sql(SORT);
}

it("a sort larger than its memory uses temporary files", async () => {
  const table = await sort();
  expect(table.numRows).toBe(SORTED);
  const some = [table.get(0), table.get(ROWS), table.get(SORTED - 1)];
  expect(some.map((row) => [row?.j, row?.i])).toEqual([
    [BigInt(GROUPS - 1), 0n],
    [BigInt(GROUPS - 2), 0n],
    [0n, BigInt(ROWS - 1)],
  ]);
  // Without temporary files the same sort fails.
  await expect(sort("--view-disk", "1MiB")).rejects.toThrow(/temporary|disk/i);
});
