import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { createKey } from "../../harness/cli.js";
import type { Client } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { statementClient } from "./statement-client.js";

const joust = setupServer();
const { send, run, rows } = statementClient(joust);

let reader: Client;
let writer: Client;
beforeAll(async () => {
  reader = joust.client.withKey((await createKey(joust.root, "read")).key);
  writer = joust.client.withKey((await createKey(joust.root, "write")).key);
  await joust.client.createTable("t", items(10));
  await joust.client.createNamespace("ns");
  await run("CREATE MATERIALIZED VIEW v AS SELECT id FROM t");
});

/** Statements that change something, with the operation that each runs. */
const changes: [statement: string, operation: string][] = [
  ["INSERT INTO t (id) VALUES (1)", "InsertIntoTable"],
  ["INSERT INTO t (id) SELECT id FROM none", "InsertIntoTable"],
  ["DELETE FROM t", "DeleteFromTable"],
  ["UPDATE t SET name = 'x'", "UpdateTable"],
  ["MERGE INTO t USING v ON t.id = v.id WHEN NOT MATCHED THEN INSERT *", "MergeInsertIntoTable"],
  ["CREATE TABLE u AS SELECT 1 AS x", "CreateTable"],
  ["CREATE TABLE u (x INT)", "CreateTable"],
  ["DROP TABLE t", "DropTable"],
  ["DROP TABLE IF EXISTS none", "DropTable"],
  ["CREATE SCHEMA u", "CreateNamespace"],
  ["DROP SCHEMA ns", "DropNamespace"],
  ["ALTER TABLE t ADD COLUMN x INT", "AlterTableAddColumns"],
  ["ALTER TABLE t DROP COLUMN id", "AlterTableDropColumns"],
  ["ALTER TABLE t RENAME COLUMN id TO x", "AlterTableAlterColumns"],
  ["ALTER TABLE t ALTER COLUMN id TYPE INT", "AlterTableAlterColumns"],
  ["ALTER TABLE t ALTER COLUMN id SET NOT NULL", "AlterTableAlterColumns"],
  ["ALTER TABLE t RENAME TO u", "RenameTable"],
  ["CREATE INDEX ON t (id)", "CreateTableIndex"],
  ["DROP INDEX i ON t", "DropTableIndex"],
  ["CREATE MATERIALIZED VIEW u AS SELECT id FROM t", "CreateMaterializedView"],
  ["REFRESH MATERIALIZED VIEW v", "RefreshMaterializedView"],
  ["DROP MATERIALIZED VIEW v", "DropMaterializedView"],
];

describe("a caller without the permission of the operation", () => {
  it.each(changes)("may not run %s", async (query, operation) => {
    const answer = await send(query, { client: reader });
    expectFailure(answer, 403, 15, new RegExp(`${operation} needs write`));
    expect(await joust.client.count("t")).toBe(10);
  });

  it("may read and list", async () => {
    for (const query of [
      "SELECT 1",
      "DESCRIBE MATERIALIZED VIEW v",
      "SHOW MATERIALIZED VIEWS LIMIT 5",
    ]) {
      expect((await send(query, { client: reader })).status).toBe(200);
    }
  });

  it("may not drop what is in a schema", async () => {
    const query = "DROP SCHEMA ns CASCADE";
    expectFailure(await send(query, { client: writer }), 403, 15, /DropNamespace needs admin/);
  });

  it("gets 401 without a key", async () => {
    const client = joust.client.withKey("");
    expectFailure(await send("DROP TABLE t", { client }), 401, 16);
  });
});

describe("a statement of a caller with the permission", () => {
  it("leaves the record of its operation", async () => {
    for (const [query, operation, object] of [
      ["INSERT INTO t (id) VALUES (100)", "InsertIntoTable", "t"],
      ["DELETE FROM t WHERE id = 100", "DeleteFromTable", "t"],
      ["CREATE TABLE ns.made AS SELECT 1 AS x", "CreateTable", "ns$made"],
      ["ALTER TABLE ns.made ALTER COLUMN x TYPE INT", "AlterTableAlterColumns", "ns$made"],
      ["REFRESH MATERIALIZED VIEW v", "RefreshMaterializedView", "v"],
      ["DROP TABLE ns.made", "DropTable", "ns$made"],
    ] as const) {
      const answer = await send(query, { client: writer });
      const id = answer.headers.get("x-transaction-id") as string;
      const path = `/v1/transaction/${encodeURIComponent(id)}/describe`;
      expect([answer.status, await joust.client.ok(path, {})]).toMatchObject([
        200,
        { status: "Succeeded", properties: { operation, object } },
      ]);
    }
  });

  it("reports the version that it committed", async () => {
    const answer = await run("UPDATE t SET price = 1 WHERE id = 1");
    const { version } = await joust.client.ok("/v1/table/t/describe", {});
    expect(answer.headers.get("x-lancedb-version")).toBe(String(version));
  });

  it("takes no idempotency key", async () => {
    const headers = { "idempotency-key": "once" };
    const query = "INSERT INTO t (id) VALUES (7)";
    expectFailure(await send(query, { headers }), 400, 13, /Idempotency-Key/);
    expect((await send("SELECT 1 AS one", { headers })).status).toBe(200);
    expect(await rows("SELECT count(*) AS n FROM t")).toEqual([{ n: 10 }]);
  });

  it("is not cut by the limit of the answer", async () => {
    const limited = (query: string) =>
      joust.client.request("/v1/sql", {
        body: { query, limit: 1 },
        headers: { accept: "application/json" },
      });
    const values = "INSERT INTO t (id) VALUES (200), (201), (202)";
    expect((await limited(values)).json.rows).toEqual([{ count: 3 }]);
    await run("DELETE FROM t WHERE id >= 200");
    await run("CREATE MATERIALIZED VIEW w AS SELECT id FROM t");
    expect((await limited("SHOW MATERIALIZED VIEWS")).json.rows).toEqual([{ name: "v" }]);
    await run("DROP MATERIALIZED VIEW w");
  });
});
