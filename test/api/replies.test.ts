import { Value } from "@sinclair/typebox/value";
import { expect, it } from "vitest";
import type { Operation } from "../../src/api/operation.js";
import { contract } from "../../src/operations/index.js";
import { items } from "../harness/arrow.js";
import type { Answer, Json } from "../harness/client.js";
import { waitForIndex } from "../harness/indexes.js";
import { waitForJobResult } from "../harness/jobs.js";
import { setupServer } from "../harness/setup-server.js";

const joust = setupServer();

/**
 * One successful request of each operation, in a working order. A test below checks that no
 * operation is missing. JOB, MANIFEST and LOCATION are replaced by values of earlier replies.
 */
const requests: [string, string, (object | Uint8Array)?][] = [
  ["CreateNamespace", "/v1/namespace/ns/create", { properties: { a: "1" } }],
  ["ListNamespaces", "/v1/namespace/$/list", { limit: 1 }],
  ["DescribeNamespace", "/v1/namespace/ns/describe"],
  ["NamespaceExists", "/v1/namespace/ns/exists"],
  ["CreateTable", "/v1/table/ns$t/create", items(10)],
  ["TableExists", "/v1/table/ns$t/exists"],
  ["QueryTable", "/v1/table/ns$t/query", { k: 1, vector: {} }],
  ["ExecuteSql", "/v1/sql", { query: "SELECT id FROM ns.t" }],
  ["ListTables", "/v1/namespace/ns/table/list"],
  ["ListAllTables", "/v1/table"],
  ["InsertIntoTable", "/v1/table/ns$t/insert", items(10)],
  ["DeleteFromTable", "/v1/table/ns$t/delete", { predicate: "id = 3" }],
  ["CountTableRows", "/v1/table/ns$t/count_rows"],
  ["ReadTableChanges", "/v1/table/ns$t/changes", { from_version: 1 }],
  ["CreateTableIndex", "/v1/table/ns$t/create_index", { column: "vector", index_type: "IVF_FLAT" }],
  [
    "CreateTableScalarIndex",
    "/v1/table/ns$t/create_scalar_index",
    { column: "id", index_type: "BTREE" },
  ],
  ["ListTableIndices", "/v1/table/ns$t/index/list"],
  ["DescribeTableIndexStats", "/v1/table/ns$t/index/vector_idx/stats"],
  ["GetTableStats", "/v1/table/ns$t/stats"],
  ["DescribeTable", "/v1/table/ns$t/describe", { with_table_uri: true, check_declared: true }],
  ["ExplainTableQueryPlan", "/v1/table/ns$t/explain_plan", { query: { k: 1, vector: {} } }],
  ["AnalyzeTableQueryPlan", "/v1/table/ns$t/analyze_plan", { k: 1, vector: {} }],
  ["DescribeTransaction", "/v1/transaction/JOB/describe"],
  [
    "AlterTransaction",
    "/v1/transaction/JOB/alter",
    { actions: [{ setPropertyAction: { key: "a", value: "b" } }] },
  ],
  ["DescribeJob", "/v1/jobs/describe", { job_id: "JOB" }],
  ["ListJobs", "/v1/jobs/list", { limit: 1 }],
  ["QueryJobEvents", "/v1/jobs/query_events", { job_id: "JOB" }],
  ["PauseJob", "/v1/jobs/pause", { job_id: "JOB" }],
  ["ResumeJob", "/v1/jobs/resume", { job_id: "JOB" }],
  ["CancelJob", "/v1/jobs/cancel", { job_id: "JOB" }],
  ["DropTableIndex", "/v1/table/ns$t/index/id_idx/drop"],
  [
    "MergeInsertIntoTable",
    "/v1/table/ns$t/merge_insert?on=id&when_matched_update_all=true",
    items(2),
  ],
  ["UpdateTable", "/v1/table/ns$t/update", { updates: [["price", "1"]], properties: { a: "b" } }],
  [
    "AlterTableAddColumns",
    "/v1/table/ns$t/add_columns",
    { new_columns: [{ name: "twice", expression: "price * 2" }] },
  ],
  [
    "AlterTableAlterColumns",
    "/v1/table/ns$t/alter_columns",
    { alterations: [{ path: "twice", rename: "double" }] },
  ],
  [
    "AlterTableAddColumns",
    "/v1/table/ns$t/add_columns",
    { new_columns: [{ name: "ratio", computed: "10 / (id % 3)" }] },
  ],
  ["AlterTableBackfillColumns", "/v1/table/ns$t/backfill_column", { column: "ratio" }],
  ["ListRowErrors", "/v1/table/ns$t/errors", { limit: 1 }],
  ["CompactTable", "/v1/table/ns$t/compact", { concurrency: 1 }],
  [
    "CreateMaterializedView",
    "/v1/materialized_view/ns$v/create",
    { query: "SELECT id FROM t", with_no_data: true },
  ],
  ["RefreshMaterializedView", "/v1/materialized_view/ns$v/refresh", { concurrency: 1 }],
  ["RefreshTable", "/v1/table/ns$v/refresh", { concurrency: 2 }],
  ["DescribeMaterializedView", "/v1/materialized_view/ns$v/describe"],
  ["ListMaterializedViews", "/v1/namespace/ns/materialized_view/list", { limit: 1 }],
  ["DropMaterializedView", "/v1/materialized_view/ns$v/drop"],
  ["AlterTableDropColumns", "/v1/table/ns$t/drop_columns", { columns: ["double", "ratio"] }],
  [
    "UpdateFieldMetadata",
    "/v1/table/ns$t/update_field_metadata",
    { updates: [{ path: "id", metadata: { unit: "none" } }] },
  ],
  ["UpdateTableSchemaMetadata", "/v1/table/ns$t/schema_metadata/update", { owner: "me" }],
  ["ListTableVersions", "/v1/table/ns$t/version/list?limit=2"],
  ["DescribeTableVersion", "/v1/table/ns$t/version/describe", { version: 2 }],
  [
    "CreateTableVersion",
    "/v1/table/ns$t/version/create",
    { version: 2, manifest_path: "MANIFEST" },
  ],
  [
    "BatchCreateTableVersions",
    "/v1/table/version/batch-create",
    { entries: [{ id: ["ns", "t"], version: 2, manifest_path: "MANIFEST" }] },
  ],
  ["RestoreTable", "/v1/table/ns$t/restore", { version: 2 }],
  ["CreateTableTag", "/v1/table/ns$t/tags/create", { tag: "a", version: 2 }],
  ["UpdateTableTag", "/v1/table/ns$t/tags/update", { tag: "a", version: 3 }],
  ["GetTableTagVersion", "/v1/table/ns$t/tags/version", { tag: "a" }],
  ["ListTableTags", "/v1/table/ns$t/tags/list"],
  ["DeleteTableTag", "/v1/table/ns$t/tags/delete", { tag: "a" }],
  ["CreateTableBranch", "/v1/table/ns$t/branches/create", { name: "dev" }],
  ["ListTableBranches", "/v1/table/ns$t/branches/list"],
  ["DeleteTableBranch", "/v1/table/ns$t/branches/delete", { name: "dev" }],
  [
    "BatchDeleteTableVersions",
    "/v1/table/ns$t/version/delete",
    { ranges: [{ start_version: 0, end_version: 2 }] },
  ],
  ["RenameTable", "/v1/table/ns$t/rename", { new_table_name: "u" }],
  ["DeregisterTable", "/v1/table/ns$u/deregister"],
  ["RegisterTable", "/v1/table/ns$u/register", { location: "LOCATION" }],
  ["DeclareTable", "/v1/table/ns$d/declare", { properties: { managed_versioning: "true" } }],
  [
    "BatchCommitTables",
    "/v1/table/batch-commit",
    {
      operations: [
        { deregister_table: { id: ["ns", "d"] } },
        { declare_table: { id: ["ns", "e"] } },
        {
          delete_table_versions: {
            id: ["ns", "u"],
            ranges: [{ start_version: 2, end_version: 3 }],
          },
        },
      ],
    },
  ],
  ["DropTable", "/v1/table/ns$e/drop"],
  ["DropTable", "/v1/table/ns$u/drop"],
  ["DropNamespace", "/v1/namespace/ns/drop"],
];

const known: Record<string, string> = {};

function filled<T extends string | object | undefined>(value: T): T {
  if (value === undefined || value instanceof Uint8Array) return value;
  const text = JSON.stringify(value);
  return JSON.parse(text.replace(/JOB|MANIFEST|LOCATION/, (name) => known[name] ?? name));
}

it("every reply matches the declared schema of its operation and has no further members", async () => {
  for (const [id, path, body] of requests) {
    if (id === "ListRowErrors") await waitForJobResult(joust.client, known.BACKFILL ?? "");
    if (id === "ListTableIndices") {
      await waitForIndex(joust.client, "ns$t", "vector_idx");
      await waitForIndex(joust.client, "ns$t", "id_idx");
    }
    const answer = await joust.client.post(filled(path), filled(body));
    expect([id, answer.status < 300 || answer.text]).toEqual([id, true]);
    const operation = contract.find((operation) => operation.id === id) as Operation;
    const { reply: schema, status = 200 } = operation;
    expect([id, answer.status]).toEqual([id, status]);
    if (schema === undefined) {
      expect(answer.headers.get("content-type")).not.toBe("application/json");
      continue;
    }
    const reply: Json = answer.json;
    if (id === "AlterTableBackfillColumns") known.BACKFILL = reply.job_id;
    if (id === "CreateTableScalarIndex") known.JOB = reply.transaction_id;
    if (id === "DescribeTableVersion") known.MANIFEST = reply.version.manifest_path;
    if (id === "DeregisterTable") known.LOCATION = reply.location;
    await expectRecord(operation, answer);
    expect([id, [...Value.Errors(schema, reply)]]).toEqual([id, []]);
    expect([id, Value.Clean(schema, structuredClone(reply))]).toEqual([id, reply]);
  }
});

it("the tested requests cover every operation", () => {
  const ids = contract.map((operation) => operation.id);
  expect([...new Set(requests.map(([id]) => id))].sort()).toEqual(ids.sort());
});

/** A change is recorded as a transaction, and the reply contains its id. */
async function expectRecord(operation: Operation, { headers, json }: Answer): Promise<void> {
  const named = [json.transaction_id ?? []].flat();
  const id = headers.get("x-transaction-id");
  if (operation.permission === "read" || operation.unrecorded === true) {
    expect([operation.id, id, named]).toEqual([operation.id, null, []]);
    return;
  }
  expect([operation.id, id]).toEqual([operation.id, expect.stringMatching(/^[\w-]{8,}$/)]);
  const hasRoom = "transaction_id" in (operation.reply?.properties ?? {});
  expect(named).toEqual(hasRoom ? [id] : []);
  const record = await joust.client.ok(`/v1/transaction/${id}/describe`);
  expect(record.properties.operation).toBe(operation.id);
  expect(["Queued", "Running", "Succeeded"]).toContain(record.status);
}
