import type { Operation } from "../../../../src/api/operation.js";
import { contract } from "../../../../src/operations/index.js";
import { items } from "../../../harness/arrow.js";
import { type Case, errors, failure } from "../case.js";

/** The fixture's object for the path of an operation. */
const own: Record<string, string> = {
  namespace: "ns",
  table: "ns$t",
  materialized_view: "ns$v",
  transaction: "unknown",
};

const kindOf = ({ path }: Operation): string => path.split("/")[2] as string;

export const pathOf = (operation: Operation, id = own[kindOf(operation)] ?? "ns$t"): string =>
  operation.path.replace("{id}", encodeURIComponent(id)).replace("{index_name}", "id_idx");

/** Operations that create a table instead of requiring one. */
const makesTable = new Set([
  "CreateTable",
  "DeclareTable",
  "RegisterTable",
  "CreateMaterializedView",
]);

/** The smallest body with which the operation looks up its object. */
export const minimalBodies: Record<string, object> = {
  UpdateTable: { updates: [["price", "1"]] },
  DeleteFromTable: { predicate: "true" },
  RestoreTable: { version: 1 },
  RenameTable: { new_table_name: "x" },
  RegisterTable: { location: "somewhere" },
  BatchDeleteTableVersions: { ranges: [{ start_version: 0, end_version: 1 }] },
  CreateTableVersion: { version: 2, manifest_path: "x" },
  AlterTableAddColumns: { new_columns: [{ name: "x", expression: "1" }] },
  AlterTableAlterColumns: { alterations: [{ path: "price", rename: "cost" }] },
  AlterTableDropColumns: { columns: ["price"] },
  AlterTableBackfillColumns: { column: "price" },
  UpdateFieldMetadata: { updates: [{ path: "id", metadata: { a: "1" } }] },
  CreateTableIndex: { column: "id", index_type: "BTREE" },
  CreateTableScalarIndex: { column: "id", index_type: "BTREE" },
  GetTableTagVersion: { tag: "first" },
  CreateTableTag: { tag: "x", version: 1 },
  UpdateTableTag: { tag: "first", version: 1 },
  DeleteTableTag: { tag: "first" },
  CreateMaterializedView: { query: "SELECT id FROM t" },
  CreateTableBranch: { name: "x" },
  DeleteTableBranch: { name: "dev" },
  QueryTable: { k: 1, vector: {} },
  AnalyzeTableQueryPlan: { k: 1, vector: {} },
  ExplainTableQueryPlan: { query: { k: 1, vector: {} } },
  ReadTableChanges: { from_version: 0 },
  ExecuteSql: { query: "SELECT id FROM ns.t" },
  AlterTransaction: { actions: [{ setStatusAction: { status: "Canceled" } }] },
  BatchCreateTableVersions: {
    entries: [{ id: ["ns", "t"], version: 2, manifest_path: "x" }],
  },
  BatchCommitTables: { operations: [{ deregister_table: { id: ["ns", "t"] } }] },
};

/** Required parameters of an operation. */
const params: Record<string, string> = {
  MergeInsertIntoTable: "?on=id&when_not_matched_insert_all=true",
};

const bodyOf = ({ id, body }: Operation) => (body.kind === "arrow" ? items(1) : minimalBodies[id]);

/** A request that succeeds or fails only because of its object. */
const request = (operation: Operation, id?: string): string =>
  pathOf(operation, id) + (params[operation.id] ?? "");

/** Failures of every operation: a missing namespace, table or other object. */
export function everyOperation(): Case[] {
  return contract.flatMap((operation) => [...missing(operation), ...malformed(operation)]);
}

function missing(operation: Operation): Case[] {
  if (!operation.path.includes("{id}")) return [];
  const { id: name } = operation;
  const on = (id: string) => request(operation, id);
  const body = bodyOf(operation);
  const method = operation.methods.includes("POST") ? "POST" : "GET";
  const badId = {
    ...failure(
      name,
      "an empty component in the id",
      on("ns$$t"),
      body,
      errors.invalid,
      /empty component/,
    ),
    method,
  };
  switch (kindOf(operation)) {
    case "namespace":
      return [
        badId,
        name === "CreateNamespace"
          ? failure(name, "no parent", on("nowhere$x"), {}, errors.noNamespace, /nowhere/)
          : failure(name, "no namespace", on("nowhere"), body, errors.noNamespace, /nowhere/),
      ];
    case "transaction":
      return [
        badId,
        failure(name, "no transaction", on("nobody"), body, errors.noTransaction, /nobody/),
      ];
    default: {
      const none = failure(
        name,
        "no namespace",
        on("nowhere$t"),
        body,
        errors.noNamespace,
        /nowhere/,
      );
      if (makesTable.has(name)) return name === "RegisterTable" ? [badId] : [badId, none];
      return [
        badId,
        none,
        failure(name, "no table", on("ns$missing"), body, errors.noTable, /missing/),
      ];
    }
  }
}

function malformed(operation: Operation): Case[] {
  const { id, body, methods } = operation;
  if (!methods.includes("POST")) return [];
  const path = request(operation);
  const large = "x".repeat(100_000);
  if (body.kind === "arrow") {
    const to = path.replace("ns%24t/create", "ns%24new/create");
    return [
      failure(
        id,
        "a body that is not Arrow",
        to,
        Buffer.from("no arrow"),
        errors.invalid,
        /Arrow/i,
      ),
      failure(id, "an empty body", to, new Uint8Array(0), errors.invalid, /Arrow|empty|body/i),
      failure(
        id,
        "a body too large",
        to,
        items(3_000, { dimension: 64 }),
        [413, 13],
        /max-upload-bytes/,
      ),
      { ...failure(id, "a JSON body", to, "{}", [415, 13], /vnd\.apache\.arrow\.stream/) },
    ];
  }
  const text = { headers: { "content-type": "text/plain" } };
  return [
    failure(id, "no JSON", path, "{", errors.invalid, /JSON/),
    failure(id, "an array as body", path, "[]", errors.invalid, /object/),
    failure(
      id,
      "a body too large",
      path,
      JSON.stringify({ x: large }),
      [413, 13],
      /max-json-bytes/,
    ),
    { ...failure(id, "a text body", path, "{}", [415, 13], /application\/json/), ...text },
  ];
}
