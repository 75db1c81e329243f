import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { items, stream, type } from "../harness/arrow.js";
import { FlightClient, FlightError, foreignTicket } from "../harness/flight-client.js";
import type { Server } from "../harness/server.js";
import { setupServer } from "../harness/setup-server.js";
import { waitFor } from "../harness/wait-for.js";
import { sqlPort } from "./sql-port.js";

const ROWS = 20_000;

const joust = setupServer();
let flight: FlightClient;

const connect = (server: Server, key = server.key) =>
  new FlightClient(`http://127.0.0.1:${sqlPort(server)}`, key);

beforeAll(async () => {
  await joust.client.createTable("t", items(ROWS));
  await joust.client.post("/v1/namespace/ns/create", {});
  await joust.client.post("/v1/namespace/ns$inner/create", {});
  await joust.client.createTable("ns$inner$u", stream({ word: [type.text, ["inner"]] }));
  await joust.client.createTable("ns$u", stream({ word: [type.text, ["outer"]] }));
  flight = connect(joust.server);
});

afterAll(() => flight.close());

const failure = async (work: Promise<unknown>): Promise<FlightError> => {
  const error = await work.then(
    () => undefined,
    (caught) => caught,
  );
  expect(error).toBeInstanceOf(FlightError);
  return error;
};

describe("statements", () => {
  it("give the rows of a table", async () => {
    const table = await flight.sql("SELECT id, name FROM t WHERE id < 3 ORDER BY id");
    expect(table.toArray().map((row) => row.toJSON())).toEqual([
      { id: 0n, name: "item 0" },
      { id: 1n, name: "item 1" },
      { id: 2n, name: "item 2" },
    ]);
  });

  it("give the same rows as HTTP", async () => {
    const query = "SELECT category, count(*) AS n, avg(price) AS p FROM t GROUP BY 1 ORDER BY 1";
    const http = await joust.client.post("/v1/sql", { query });
    const { tableFromIPC } = await import("apache-arrow");
    const wanted = tableFromIPC(http.bytes).toArray().map(String);
    expect((await flight.sql(query)).toArray().map(String)).toEqual(wanted);
  });

  it("give a schema also without rows", async () => {
    const table = await flight.sql("SELECT id FROM t WHERE id < 0");
    expect(table.schema.fields.map(({ name }) => name)).toEqual(["id"]);
    expect(table.numRows).toBe(0);
  });

  it("see every write that was answered before", async () => {
    await joust.client.createTable("fresh", items(1));
    for (let rows = 1; rows < 5; rows++) {
      const table = await flight.sql("SELECT count(*) AS n FROM fresh");
      expect(table.get(0)?.toJSON()).toEqual({ n: BigInt(rows) });
      await joust.client.insert("fresh", items(1, { from: rows }));
    }
  });

  it("have the errors of HTTP", async () => {
    for (const [sql, code] of [
      ["SELECT * FROM missing", 5],
      ["SELECT missing FROM t", 5],
      ["SELEC 1", 3],
      ["DROP TABLE missing", 5],
      ["COPY t TO 'x'", 3],
      ["SHOW TABLES", 12],
    ] as const) {
      const http = await joust.client.post("/v1/sql", { query: sql });
      const error = await failure(flight.sql(sql));
      expect(error.code, sql).toBe(code);
      expect(error.message, sql).toBe(http.json.error ?? http.json.detail);
    }
  });

  it("change data once, when they are run", async () => {
    await joust.client.createTable("changed", items(4));
    const changed = await flight.sql("DELETE FROM changed WHERE id < 3");
    expect(changed.get(0)?.toJSON()).toEqual({ count: 3n });
    expect(await joust.client.count("changed")).toBe(1);
    const created = await flight.sql("CREATE TABLE made AS SELECT id FROM t WHERE id < 7");
    expect([created.numRows, created.schema.fields.length]).toEqual([0, 0]);
    expect(await joust.client.count("made")).toBe(7);
  });

  it("of materialized views are those of LanceDB's SDK", async () => {
    const headers = { "namespace-path": "public", "lancedb-sql-protocol": "adaptive-v1" };
    const run = (sql: string) => flight.sql(sql, { headers });
    await run('CREATE MATERIALIZED VIEW "v" AS SELECT id FROM "public"."t" WHERE id < 4');
    expect((await run('SELECT * FROM "v"')).numRows).toBe(4);
    const query = await run('DESCRIBE MATERIALIZED VIEW "v"');
    expect(query.get(0)?.toJSON()).toEqual({
      query: 'SELECT id FROM "public"."t" WHERE id < 4',
    });
    const names = await run("SHOW MATERIALIZED VIEWS LIMIT 101");
    expect(names.toArray().map((row) => row.name)).toEqual(["v"]);
    await run('REFRESH MATERIALIZED VIEW "v" WITH (full = true)');
    await run('DROP MATERIALIZED VIEW "v"');
    expect((await run("SHOW MATERIALIZED VIEWS LIMIT 101")).numRows).toBe(0);
  });

  it("end when their client cancels them", async () => {
    const sql = "SELECT a.id, b.name FROM t a CROSS JOIN t b";
    let messages = 0;
    const onMessage = () => ++messages < 3;
    await failure(flight.sql(sql, { onMessage }));
    await waitFor("the end of the streams", async () => {
      const { text } = await joust.client.request("/metrics", { method: "GET" });
      return /^joust_flight_streams 0$/m.test(text);
    });
  });
});

describe("the scope of unqualified names", () => {
  const word = async (headers: Record<string, string>) => {
    const table = await flight.sql("SELECT word FROM u", { headers });
    return table.get(0)?.word;
  };

  it("is the namespace of the header `namespace-path`", async () => {
    expect(await word({ "namespace-path": "ns" })).toBe("outer");
    expect(await word({ "namespace-path": "ns$inner" })).toBe("inner");
    expect((await failure(word({ "namespace-path": "public" }))).code).toBe(5);
    expect((await failure(word({ "namespace-path": "a$$b" }))).code).toBe(3);
  });

  it("begins at the header `database` if it names a namespace", async () => {
    expect(await word({ database: "ns" })).toBe("outer");
    expect(await word({ database: "ns", "namespace-path": "inner" })).toBe("inner");
    expect(await word({ database: "ns", "namespace-path": "public" })).toBe("outer");
    expect(await word({ database: "no-namespace", "namespace-path": "ns" })).toBe("outer");
  });

  it("is the schema of the session", async () => {
    expect(await word({ cookie: "joust_schema=ns" })).toBe("outer");
  });

  it("does not hide a table of the same name in the root", async () => {
    await joust.client.createTable("twin", stream({ word: [type.text, ["root"]] }));
    await joust.client.createTable("ns$twin", stream({ word: [type.text, ["outer"]] }));
    const headers = { "namespace-path": "ns" };
    const table = await flight.sql(
      'SELECT a.word AS here, b.word AS there FROM twin a CROSS JOIN "".twin b',
      { headers },
    );
    expect(table.toArray().map((row) => row.toJSON())).toEqual([{ here: "outer", there: "root" }]);
    const unaliased = flight.sql('SELECT * FROM twin CROSS JOIN "".twin', { headers });
    expect((await failure(unaliased)).message).toMatch(/alias/);
  });
});

describe("callers", () => {
  it("need a key", async () => {
    const nobody = connect(joust.server, "");
    expect((await failure(nobody.sql("SELECT 1"))).code).toBe(16);
    nobody.close();
    const unknown = connect(joust.server, `joust_${"x".repeat(43)}`);
    expect((await failure(unknown.sql("SELECT 1"))).code).toBe(16);
    unknown.close();
  });

  it("send it as a token, as a header of its own, or as a password", async () => {
    const nobody = connect(joust.server, "");
    const basic = Buffer.from(`user:${joust.server.key}`).toString("base64");
    for (const headers of [
      { authorization: `Bearer ${joust.server.key}` },
      { authorization: `Basic ${basic}` },
      { "x-api-key": joust.server.key },
    ]) {
      expect((await nobody.sql("SELECT 1 AS one", { headers })).numRows).toBe(1);
    }
    nobody.close();
  });

  it("cannot redeem what is no ticket of joust", async () => {
    const error = await failure(flight.redeem(foreignTicket()));
    expect(error.code).toBe(3);
    expect(error.message).toContain("GetFlightInfo");
  });
});

it("the metrics count calls and bytes", async () => {
  await flight.sql("SELECT * FROM t");
  const { text } = await joust.client.request("/metrics", { method: "GET" });
  const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
  expect(value("joust_flight_calls_total")).toBeGreaterThan(5);
  expect(value("joust_flight_calls_failed_total")).toBeGreaterThan(2);
  expect(value("joust_flight_sent_bytes_total")).toBeGreaterThan(ROWS * 40);
  expect(value("joust_flight_connections")).toBeGreaterThan(0);
});
