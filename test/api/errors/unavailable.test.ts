import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { contract } from "../../../src/operations/index.js";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { type Postgres, postgresMissing, startPostgres } from "../../harness/postgres.js";
import { type Server, startServer } from "../../harness/server.js";
import { waitFor } from "../../harness/wait-for.js";
import { minimalBodies, pathOf } from "./cases/all-operations.js";

/** The catalog holds all names: without it every operation fails. */
describe.skipIf(postgresMissing)("while the catalog is unavailable", () => {
  let postgres: Postgres;
  let server: Server;

  beforeAll(async () => {
    postgres = await startPostgres();
    server = await startServer({ args: ["--catalog", postgres.createDatabase()] });
    await server.client.createNamespace("ns");
    // Without an object the request would fail before the catalog lookup.
    minimalBodies.RegisterTable = await server.client.createTable("ns$t", items(20));
    await postgres.stop();
  });
  afterAll(async () => {
    await server?.stop();
  });

  it.each(contract.map((operation) => [operation.id, operation] as const))(
    "%s returns 503",
    async (id, operation) => {
      const [method = "POST"] = operation.methods;
      const params = id === "MergeInsertIntoTable" ? "?on=id&when_not_matched_insert_all=true" : "";
      const body =
        operation.body.kind === "arrow" ? items(1) : (minimalBodies[id] ?? { job_id: "x" });
      const answer = await server.client.request(pathOf(operation) + params, {
        method,
        ...(method === "POST" && { body }),
      });
      expectFailure(answer, 503, 17);
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    },
  );

  it("the server keeps running", async () => {
    expect((await server.client.get("/healthz")).status).toBe(200);
  });
});

describe.skipIf(postgresMissing)("when Postgres ends the connection of a statement", () => {
  let postgres: Postgres;
  let server: Server;
  let administrator: pg.Client;
  /** Not `administrator`: within a transaction Postgres shows no connection that began after the first look. */
  let observer: pg.Client;

  beforeAll(async () => {
    postgres = await startPostgres();
    const catalog = postgres.createDatabase();
    server = await startServer({ args: ["--catalog", catalog] });
    administrator = new pg.Client(catalog);
    observer = new pg.Client(catalog);
    await Promise.all([administrator.connect(), observer.connect()]);
  });
  afterAll(async () => {
    await Promise.all([administrator?.end(), observer?.end()]);
    await server?.stop();
    await postgres?.stop();
  });

  it("the request gets 503 and the server keeps running", async () => {
    await administrator.query("begin; lock table namespaces in exclusive mode");
    const request = server.client.request("/v1/namespace/ns/create", { method: "POST", body: {} });
    const waiting = "from pg_stat_activity where wait_event_type = 'Lock'";
    await waitFor("the statement waits for the lock", async () => {
      return (await observer.query(`select pid ${waiting}`)).rowCount === 1;
    });
    await observer.query(`select pg_terminate_backend(pid) ${waiting}`);
    expectFailure(await request, 503, 17);
    await administrator.query("rollback");
    await server.client.createNamespace("ns");
  });
});
