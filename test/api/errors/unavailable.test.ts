import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { contract } from "../../../src/operations/index.js";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { type Postgres, postgresMissing, startPostgres } from "../../harness/postgres.js";
import { type Server, startServer } from "../../harness/server.js";
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
