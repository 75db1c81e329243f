/** Every operation on a table as a caller whose privileges have a row filter. */
import { beforeAll, describe, expect, it } from "vitest";
import type { Operation } from "../../../src/api/operation.js";
import { namespaceObject, SERVER, tableObject } from "../../../src/catalog/grants/grants.js";
import { operations } from "../../../src/operations/index.js";
import { minimalBodies } from "../../api/errors/cases/all-operations.js";
import { items } from "../../harness/arrow.js";
import type { Client } from "../../harness/client.js";
import { waitForJob } from "../../harness/jobs.js";
import { setupServer } from "../../harness/setup-server.js";
import { setupGrants } from "./grant-callers.js";

const joust = setupServer();
const granted = setupGrants(joust);
const filtered = ["select", "insert", "update", "delete"] as const;
/** Such a caller may have every privilege that has no filter, and still uses no hidden row. */
const others = ["create", "drop", "manage", "grant"] as const;
const objects = [tableObject(["ns", "t"]), namespaceObject(["ns"]), SERVER];

/** Each has the four privileges with a filter on one object; half have the other privileges without one. */
const callers: { name: string; client: Client; mayManage: boolean }[] = [];
let job = "";
let transaction = "";
let location = "";

beforeAll(async () => {
  const { client } = joust;
  await client.createNamespace("ns");
  await client.createTable("ns$t", items(3));
  const built = { column: "id", index_type: "BTREE" };
  job = (await client.ok("/v1/table/ns%24t/create_scalar_index", built)).transaction_id;
  await waitForJob(client, job);
  location = (await client.ok("/v1/table/ns%24t/describe")).location;
  const tag = { tag: "a", version: 1 };
  transaction = (await client.ok("/v1/table/ns%24t/tags/create", tag)).transaction_id;
  for (const object of objects) {
    for (const mayManage of [false, true]) {
      const caller = await granted.caller();
      const subject = `key:${caller.id}`;
      await granted.grants.grant(subject, object, filtered, "id < 2");
      if (mayManage) await granted.grants.grant(subject, object, others);
      const name = `${object.kind}${mayManage ? " and other privileges" : ""}`;
      callers.push({ name, client: caller.client, mayManage });
    }
  }
});

/** What the operations answer that support row filters. */
const supported: Record<string, number> = {
  QueryTable: 200,
  // The row of the request exists, and its column holds no large values.
  FetchTableBlobs: 400,
  GetTableBlobBytes: 400,
  CountTableRows: 200,
  ReadTableChanges: 200,
  ExecuteSql: 200,
  ExplainTableQueryPlan: 200,
  AnalyzeTableQueryPlan: 200,
  DescribeTable: 200,
  TableExists: 200,
  // Not Arrow.
  InsertIntoTable: 400,
  UpdateTable: 200,
  DeleteFromTable: 200,
  // Not Arrow.
  MergeInsertIntoTable: 400,
  CreateMultipartWrite: 200,
  // There is no such upload.
  CompleteMultipartWrite: 400,
  AbortMultipartWrite: 200,
};

const bodies: Record<string, object> = {
  ...minimalBodies,
  QueryTable: { k: 10 },
  ExplainTableQueryPlan: { query: { k: 10 } },
  AnalyzeTableQueryPlan: { k: 10 },
  DeleteFromTable: { predicate: "id > 100" },
  UpdateTable: { predicate: "id > 100", updates: [["price", "1.0"]] },
  ExecuteSql: { query: "SELECT id FROM ns.t" },
  ReadTableChanges: { from_version: 0 },
  FetchTableBlobs: { column: "id", row_ids: [0] },
  DiffTableBranch: { from_branch: "none" },
  CherryPickTableBranch: { from_branch: "none" },
  CreateMaterializedView: { query: `SELECT id FROM "ns$t"` },
  CloneTable: { source_location: location },
  PrewarmTablePageCache: { columns: ["id"] },
};

async function statusOf(client: Client, operation: Operation): Promise<number> {
  const { access, body, id, methods, params } = operation;
  const object =
    access.on === "transaction object"
      ? transaction
      : access.on === "new table"
        ? `ns$new${Math.random()}`
        : "ns$t";
  const required: readonly string[] = params.required ?? [];
  const path = operation.path
    .replace("{id}", encodeURIComponent(object))
    .replace(/\{\w+\}/g, "0")
    .concat(required.length === 0 ? "" : `?${required.map((name) => `${name}=x`).join("&")}`);
  const method = methods.at(-1) as string;
  if (method === "GET" || body.kind === "none")
    return (await client.request(path, { method })).status;
  const json = id === "CloneTable" ? { source_location: location } : (bodies[id] ?? {});
  const payload =
    access.on === "job table"
      ? { job_id: job }
      : body.kind === "arrow"
        ? new Uint8Array([1, 2, 3])
        : json;
  return (await client.request(path, { method, body: payload })).status;
}

const onTable = operations.filter(({ access }) =>
  ["table", "job table", "transaction object", "named tables"].includes(access.on),
);
const sources = operations.filter(({ id }) =>
  ["CreateMaterializedView", "CloneTable"].includes(id),
);

/** Privileges that have no filter suffice for these, and they show no row. */
const needsOnly = ({ access }: Operation, names: readonly string[]): boolean =>
  access.privileges.length > 0 && access.privileges.every((name) => names.includes(name));

describe("an operation on a table", () => {
  it.each([...onTable, ...sources].map((operation) => [operation.id, operation] as const))(
    "%s supports row filters or is denied",
    async (id, operation) => {
      const isChange = operation.access.on === "table" && needsOnly(operation, others);
      for (const { name, client, mayManage } of callers) {
        // These would change or drop the table, or end its job.
        if (mayManage && (isChange || operation.access.privileges.includes("manage"))) continue;
        const expected = supported[id] ?? 403;
        expect([id, name, await statusOf(client, operation)]).toEqual([id, name, expected]);
      }
      expect([id, operation.access.rows !== undefined]).toEqual([id, id in supported]);
    },
  );

  it("with a filter needs a privilege that can have one", () => {
    for (const { access } of operations) {
      for (const privilege of access.rows ?? []) expect(filtered).toContain(privilege);
      if (access.rows) expect(["table", "named tables"]).toContain(access.on);
    }
  });

  it("leaves its jobs out of the listings of jobs, which succeed", async () => {
    const idsFor = async (client: Client): Promise<string[]> =>
      (await client.ok("/v1/jobs/list", {})).jobs.map((one: { job_id: string }) => one.job_id);
    expect(await idsFor(joust.client)).toContain(job);
    expect(callers).toHaveLength(6);
    for (const { name, client } of callers) {
      expect([name, await idsFor(client)]).toEqual([name, []]);
    }
  });
});
