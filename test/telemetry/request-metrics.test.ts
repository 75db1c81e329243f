import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { sqlPort } from "../flight/sql-port.js";
import { items } from "../harness/arrow.js";
import { createKey } from "../harness/cli.js";
import type { Client } from "../harness/client.js";
import { FlightClient } from "../harness/flight-client.js";
import { startServerForTest } from "../harness/setup-server.js";
import { tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";
import { connections } from "../threads/connections.js";

/** The value of a sample; 0 if it is absent. */
async function sample(client: Client, name: string): Promise<number> {
  const { text } = await client.get("/metrics");
  const line = text.split("\n").find((line) => line.startsWith(`${name} `));
  return Number(line?.slice(name.length) ?? 0);
}

const requests = (operation: string, status: number) =>
  `joust_http_requests_total{operation="${operation}",status="${status}"}`;
const duration = (part: string, operation: string, more = "") =>
  `joust_http_request_duration_seconds_${part}{operation="${operation}"${more}}`;

it("the metrics count requests of all threads by operation and status", async () => {
  const server = await startServerForTest({ args: ["--http-threads", "2"] });
  const { client } = server;
  await client.createTable("t", items(3));
  const open = connections(server, 16);
  const body = { k: 1, vector: [] };
  for (const connection of open) {
    expect((await connection.post("/v1/table/t/count_rows")).status).toBe(200);
    expect((await connection.post("/v1/table/none/query", body)).status).toBe(404);
    expect((await connection.post("/v1/table/t/query", body, "wrong")).status).toBe(401);
    expect((await connection.post("/v1/nothing")).status).toBe(404);
    connection.close();
  }
  expect(await sample(client, requests("CountTableRows", 200))).toBe(16);
  expect(await sample(client, requests("QueryTable", 404))).toBe(16);
  expect(await sample(client, requests("QueryTable", 401))).toBe(16);
  expect(await sample(client, requests("other", 404))).toBe(16);
  expect(await sample(client, duration("count", "QueryTable"))).toBe(32);
  expect(await sample(client, duration("bucket", "QueryTable", ',le="+Inf"'))).toBe(32);
  expect(await sample(client, duration("sum", "QueryTable"))).toBeGreaterThan(0);
});

it("the metrics count a body that is too long, and probes apart from other requests", async () => {
  const { client } = await startServerForTest({ args: ["--max-json-bytes", "64KiB"] });
  const body = { k: 1, vector: [], filter: "x".repeat(100_000) };
  expect((await client.request("/v1/table/t/query", { body })).status).toBe(413);
  expect((await client.get("/healthz")).status).toBe(200);
  expect(await sample(client, requests("QueryTable", 413))).toBe(1);
  expect(await sample(client, requests("probe", 200))).toBeGreaterThan(0);
  expect(await sample(client, requests("other", 200))).toBe(0);
});

it("the metrics count requests that a limit refuses", async () => {
  const file = join(tempDir("limits"), "limits.yaml");
  writeFileSync(file, "roles: { read: { requests_per_second: 1, burst: 1 } }\n");
  const { client, root } = await startServerForTest({ args: ["--limits", file] });
  await client.createTable("t", items(3));
  const reader = client.withKey((await createKey(root)).key);
  const send = () => reader.post("/v1/table/t/count_rows");
  const statuses = (await Promise.all([send(), send(), send()])).map(({ status }) => status);
  const refused = statuses.filter((status) => status === 429).length;
  expect(refused).toBeGreaterThan(0);
  expect(await sample(client, requests("CountTableRows", 429))).toBe(refused);
});

it("the metrics count calls of Flight SQL by method and status", async () => {
  const server = await startServerForTest();
  const { client } = server;
  await client.createTable("t", items(3));
  const url = `http://127.0.0.1:${sqlPort(server)}`;
  const flight = new FlightClient(url, server.key);
  const stranger = new FlightClient(url, "wrong");
  expect((await flight.sql("SELECT * FROM t")).numRows).toBe(3);
  await expect(stranger.sql("SELECT * FROM t")).rejects.toThrow();
  flight.close();
  stranger.close();
  for (const status of [200, 401]) {
    const name = `joust_flight_requests_total{operation="DoGet",status="${status}"}`;
    await waitFor(name, async () => (await sample(client, name)) === 1);
  }
  const count = 'joust_flight_request_duration_seconds_count{operation="DoGet"}';
  expect(await sample(client, count)).toBe(2);
});
