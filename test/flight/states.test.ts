import { beforeAll, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { FlightClient } from "../harness/flight-client.js";
import { setupServer } from "../harness/setup-server.js";
import { sqlPort } from "./sql-port.js";

const joust = setupServer();
let flight: FlightClient;

beforeAll(async () => {
  const { client, server } = joust;
  await client.createTable("t", items(1));
  await client.insert("t", items(2, { from: 1 }));
  await client.ok("/v1/table/t/branches/create", { name: "work", from_version: 1 });
  await client.insert("t", items(5, { from: 10 }), { branch: "work" });
  await client.ok("/v1/table/t/tags/create", { tag: "first", version: 1 });
  flight = new FlightClient(`http://127.0.0.1:${sqlPort(server)}`, server.key);
  return () => flight.close();
});

it("versions, tags, branches and times of a table are read over Flight SQL", async () => {
  const { versions } = await joust.client.ok("/v1/table/t/version/list", {});
  const time = versions.find((one: { version: number }) => one.version === 2).timestamp_millis;
  for (const [state, rows] of [
    ["", 3],
    ["FOR VERSION AS OF 1", 1],
    ["FOR VERSION AS OF 'first'", 1],
    ["FOR VERSION AS OF 'work'", 6],
    [`FOR TIMESTAMP AS OF '${new Date(time).toISOString()}'`, 3],
    ["FOR TIMESTAMP AS OF '2200-01-01'", 3],
  ] as const) {
    const table = await flight.sql(`SELECT count(*) AS n FROM t ${state}`);
    expect([state, table.get(0)?.n]).toEqual([state, BigInt(rows)]);
  }
  await expect(flight.sql("SELECT * FROM t FOR VERSION AS OF 9")).rejects.toThrow("9");
});
