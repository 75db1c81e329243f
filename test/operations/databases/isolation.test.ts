/** Every operation with the header of a database that has no such table: the root's table of that name stays as it is. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Operation } from "../../../src/api/operation.js";
import { operations, translations } from "../../../src/operations/index.js";
import { unserved } from "../../../src/operations/server/unserved.js";
import { minimalBodies } from "../../api/errors/cases/all-operations.js";
import { items } from "../../harness/arrow.js";
import type { Answer, Json } from "../../harness/client.js";
import { waitForJob } from "../../harness/jobs.js";
import { setupServer } from "../../harness/setup-server.js";

// A job of the maintenance would change the listing of jobs.
const joust = setupServer({ args: ["--maintenance", "off"] });
let location = "";
let job = "";
let transaction = "";
let before: Json;

const root = async (): Promise<Json> => {
  const { client } = joust;
  return {
    table: await client.ok("/v1/table/t/describe"),
    versions: await client.ok("/v1/table/t/version/list"),
    tags: await client.ok("/v1/table/t/tags/list"),
    branches: await client.ok("/v1/table/t/branches/list"),
    indexes: await client.ok("/v1/table/t/index/list"),
    view: await client.ok("/v1/table/v/describe"),
    other: await client.ok("/v1/table/ns$t/describe"),
    tables: (await client.get("/v1/table")).json.tables.filter(
      (id: string) => !id.startsWith("a$"),
    ),
    namespaces: (await client.get("/v1/namespace/$/list")).json,
    jobs: (await client.ok("/v1/jobs/list", {})).jobs.filter(
      ({ table }: { table: string }) => !table.startsWith("a$"),
    ),
  };
};

beforeAll(async () => {
  const { client } = joust;
  await client.createNamespace("a");
  await client.createNamespace("ns");
  await client.createTable("ns$t", items(3));
  await client.createTable("t", items(3));
  const created = await client.ok("/v1/materialized_view/v/create", { query: "SELECT id FROM t" });
  await waitForJob(client, created.job_id);
  const indexed = await client.ok("/v1/table/t/create_scalar_index", {
    column: "id",
    index_type: "BTREE",
  });
  job = indexed.transaction_id;
  await waitForJob(client, job);
  const tagged = await client.ok("/v1/table/t/tags/create", { tag: "first", version: 1 });
  transaction = tagged.transaction_id;
  await client.ok("/v1/table/t/branches/create", { name: "dev" });
  location = (await client.ok("/v1/table/t/describe")).location;
  before = await root();
});

afterAll(async () => {
  expect(await root()).toEqual(before);
});

const bodies = (): Record<string, object> => ({
  ...minimalBodies,
  BatchCreateTableVersions: { entries: [{ id: ["t"], version: 9, manifest_path: "x" }] },
  BatchCommitTables: { operations: [{ deregister_table: { id: ["t"] } }] },
  ExecuteSql: { query: "DELETE FROM t" },
  CreateMaterializedView: { query: "SELECT id FROM t" },
  CloneTable: { source_location: location },
  RegisterTable: { location },
  FetchTableBlobs: { column: "id", row_ids: [0] },
  DiffTableBranch: { from_branch: "dev" },
  CherryPickTableBranch: { from_branch: "dev" },
  PrewarmTablePageCache: { columns: ["id"] },
});

const routes = [
  ...operations.map((operation) => ({ operation, path: operation.path })),
  ...translations.map(({ operation: id, path }) => {
    const operation = operations.find((one) => one.id === id) as Operation;
    return { operation, path: path ?? (operation.dialect ? operation.path : `${operation.path}/`) };
  }),
].filter(({ path }) => path.startsWith("/v1/"));

/** The routes with an id, and those whose body or content names tables. */
function send({ operation, path }: (typeof routes)[number]): Promise<Answer> {
  const { access, id: name, body, params } = operation;
  const id =
    access.on === "transaction object" ? transaction : path.includes("_view/{id}") ? "v" : "t";
  const object = path.startsWith("/v1/namespace/") ? "ns" : id;
  const required: readonly string[] = params.required ?? [];
  const filled = path
    .replace("{id}", encodeURIComponent(object))
    .replace("{index_name}", "id_idx")
    .replace(/\{\w+\}/g, "0")
    .concat(required.length > 0 ? `?${required.map((one) => `${one}=id`).join("&")}` : "");
  const client = joust.client.inDatabase("a");
  const method = operation.methods.at(-1) as string;
  if (method === "GET" || body.kind === "none") return client.request(filled, { method });
  if (access.on === "job table") return client.request(filled, { body: { job_id: job } });
  if (body.kind === "arrow") return client.request(filled, { body: items(1) });
  return client.request(filled, { body: bodies()[name] ?? {} });
}

/** The operations that create what their path names, and those that show what is in the database. */
const creates = new Set(["CreateTable", "DeclareTable", "CreateNamespace"]);
const notServed = new Set(unserved.map(({ id }) => id));
const lists = new Set(["ListAllTables", "ListJobs", "ListTables"]);

describe("every operation with the header of a database", () => {
  it.each(routes.map((route) => [`${route.operation.id} ${route.path}`, route] as const))(
    "%s does not reach the objects of the root",
    async (title, route) => {
      const { operation, path } = route;
      const { access } = operation;
      const answer = await send(route);
      const failure = `${title}: ${answer.status} ${answer.text.slice(0, 300)}`;
      if (notServed.has(operation.id)) return;
      if (creates.has(operation.id)) {
        // Removed at once, so that the next operation meets no such table either.
        const made = path.startsWith("/v1/namespace/") ? "namespace/a$ns" : "table/a$t";
        if (answer.status < 300) await joust.client.ok(`/v1/${made}/drop`);
        expect(answer.status, failure).toBeLessThan(300);
        return;
      }
      if (lists.has(operation.id) && !path.includes("{id}")) {
        const { tables, jobs } = answer.json;
        expect(tables ?? jobs, failure).toEqual([]);
        return;
      }
      if (operation.id === "DropTable" && path.endsWith("/")) {
        expect([answer.status, answer.text], failure).toEqual([200, "{}"]);
        return;
      }
      if (path.startsWith("/v1/jobs/worker/")) {
        // The token of a job decides, and this request has none.
        expect(answer.status, failure).toBe(400);
        return;
      }
      expect(answer.status, failure).toBeGreaterThanOrEqual(400);
      // The location of the root's table is taken.
      if (operation.id === "RegisterTable") expect(answer.json.code, failure).toBe(5);
      else expect(answer.status, failure).toBe(404);
      if (answer.status === 404 && (access.on === "table" || access.on === "namespace")) {
        expect(answer.json.detail, failure).toMatch(/"a\$(t|v|ns)"/);
      }
    },
  );
});
