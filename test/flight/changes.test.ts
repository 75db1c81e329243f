import { beforeAll, describe, expect, it } from "vitest";
import { Engine } from "../../src/engine/index.js";
import type { Change } from "../../src/operations/statements/change.js";
import { resultColumns } from "../../src/operations/statements/statement-result.js";
import { items } from "../harness/arrow.js";
import { FlightClient } from "../harness/flight-client.js";
import { setupServer } from "../harness/setup-server.js";
import { waitFor } from "../harness/wait-for.js";
import { sqlPort } from "./sql-port.js";

const joust = setupServer();
let flight: FlightClient;

beforeAll(async () => {
  await joust.client.createTable("t", items(300));
  const { server } = joust;
  flight = new FlightClient(`http://127.0.0.1:${sqlPort(server)}`, server.key);
  return () => flight.close();
});

/** The columns that joust sends before a long statement has ended. */
async function announced(sql: string, respondAsync: boolean) {
  const body = Buffer.from(JSON.stringify({ query: sql }));
  const { change } = await new Engine().sqlStatement(body);
  const columns = resultColumns(JSON.parse(change as string) as Change, respondAsync);
  return columns.map(({ name, texts }) => [name, texts ? "Utf8" : "Int64"]);
}

describe("the announced columns of a statement are those of its result", () => {
  it.each([
    "CREATE SCHEMA s",
    "CREATE TABLE s.u AS SELECT id, name FROM t WHERE id < 3",
    "CREATE TABLE IF NOT EXISTS s.u (id BIGINT)",
    "INSERT INTO s.u SELECT id, name FROM t WHERE id < 2",
    "UPDATE s.u SET name = 'x' WHERE id = 1",
    "DELETE FROM s.u WHERE id = 1",
    "MERGE INTO s.u USING (SELECT id, name FROM t WHERE id < 5) AS m ON u.id = m.id WHEN NOT MATCHED THEN INSERT *",
    "ALTER TABLE s.u ADD COLUMN n BIGINT",
    "ALTER TABLE s.u RENAME COLUMN n TO m",
    "ALTER TABLE s.u DROP COLUMN m",
    "ALTER TABLE s.u RENAME TO w",
    "CREATE INDEX i ON s.w USING BTREE (id)",
    "DROP INDEX i ON s.w",
    "GRANT SELECT ON TABLE s.w TO 'group:g'",
    "REVOKE SELECT ON TABLE s.w FROM 'group:g'",
    "CREATE MATERIALIZED VIEW v AS SELECT id FROM t",
    "REFRESH MATERIALIZED VIEW v",
    "DESCRIBE MATERIALIZED VIEW v",
    "SHOW MATERIALIZED VIEWS",
    "DROP MATERIALIZED VIEW v",
    "DROP TABLE s.w",
    "DROP SCHEMA s",
  ])("%s", async (sql) => {
    const { schema } = await flight.sql(sql);
    const columns = schema.fields.map(({ name, type }) => [name, String(type)]);
    expect(await announced(sql, false)).toEqual(columns);
  });
});

it("`Prefer: respond-async` returns the id of a job, which runs until it is done", async () => {
  const prefer = { headers: { prefer: "respond-async" } };
  const create = "CREATE INDEX by_name ON t USING BTREE (name)";
  const table = await flight.sql(create, prefer);
  expect(await announced(create, true)).toEqual([["job_id", "Utf8"]]);
  const [{ job_id: id }] = table.toArray();
  await waitFor("the end of the job", async () => {
    const { job_state } = await joust.client.ok("/v1/jobs/describe", { job_id: id });
    return job_state === "DONE";
  });
  const counted = await flight.sql("DELETE FROM t WHERE id = 299", prefer);
  expect(counted.get(0)?.toJSON()).toEqual({ count: 1n });
});
