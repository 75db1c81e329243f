import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { isRole } from "../../src/auth/roles.js";
import { contract, operations, translations } from "../../src/operations/index.js";
import { lancedbOnly } from "../../src/operations/lancedb-only.js";
import { unserved } from "../../src/operations/server/unserved.js";

/** The public interface: operation id, methods, path. */
const expected: [string, string, string][] = [
  ["CreateNamespace", "POST", "/v1/namespace/{id}/create"],
  ["ListNamespaces", "GET POST", "/v1/namespace/{id}/list"],
  ["DescribeNamespace", "POST", "/v1/namespace/{id}/describe"],
  ["NamespaceExists", "POST", "/v1/namespace/{id}/exists"],
  ["DropNamespace", "POST", "/v1/namespace/{id}/drop"],
  ["CreateTable", "POST", "/v1/table/{id}/create"],
  ["DescribeTable", "POST", "/v1/table/{id}/describe"],
  ["TableExists", "POST", "/v1/table/{id}/exists"],
  ["ListTables", "GET POST", "/v1/namespace/{id}/table/list"],
  ["ListAllTables", "GET POST", "/v1/table"],
  ["RegisterTable", "POST", "/v1/table/{id}/register"],
  ["DeregisterTable", "POST", "/v1/table/{id}/deregister"],
  ["DeclareTable", "POST", "/v1/table/{id}/declare"],
  ["DropTable", "POST", "/v1/table/{id}/drop"],
  ["RenameTable", "POST", "/v1/table/{id}/rename"],
  ["GetTableStats", "POST", "/v1/table/{id}/stats"],
  ["InsertIntoTable", "POST", "/v1/table/{id}/insert"],
  ["DeleteFromTable", "POST", "/v1/table/{id}/delete"],
  ["CountTableRows", "GET POST", "/v1/table/{id}/count_rows"],
  ["ReadTableChanges", "POST", "/v1/table/{id}/changes"],
  ["QueryTable", "POST", "/v1/table/{id}/query"],
  ["ExplainTableQueryPlan", "POST", "/v1/table/{id}/explain_plan"],
  ["AnalyzeTableQueryPlan", "POST", "/v1/table/{id}/analyze_plan"],
  ["ExecuteSql", "POST", "/v1/sql"],
  ["CreateTableIndex", "POST", "/v1/table/{id}/create_index"],
  ["CreateTableScalarIndex", "POST", "/v1/table/{id}/create_scalar_index"],
  ["ListTableIndices", "POST", "/v1/table/{id}/index/list"],
  ["DescribeTableIndexStats", "POST", "/v1/table/{id}/index/{index_name}/stats"],
  ["DropTableIndex", "POST", "/v1/table/{id}/index/{index_name}/drop"],
  ["MergeInsertIntoTable", "POST", "/v1/table/{id}/merge_insert"],
  ["UpdateTable", "POST", "/v1/table/{id}/update"],
  ["AlterTableAddColumns", "POST", "/v1/table/{id}/add_columns"],
  ["AlterTableAlterColumns", "POST", "/v1/table/{id}/alter_columns"],
  ["AlterTableBackfillColumns", "POST", "/v1/table/{id}/backfill_column"],
  ["ListRowErrors", "POST", "/v1/table/{id}/errors"],
  ["CreateMaterializedView", "POST", "/v1/materialized_view/{id}/create"],
  ["RefreshMaterializedView", "POST", "/v1/materialized_view/{id}/refresh"],
  ["DescribeMaterializedView", "POST", "/v1/materialized_view/{id}/describe"],
  ["DropMaterializedView", "POST", "/v1/materialized_view/{id}/drop"],
  ["ListMaterializedViews", "GET POST", "/v1/namespace/{id}/materialized_view/list"],
  ["RefreshTable", "POST", "/v1/table/{id}/refresh"],
  ["CompactTable", "POST", "/v1/table/{id}/compact"],
  ["AlterTableDropColumns", "POST", "/v1/table/{id}/drop_columns"],
  ["UpdateFieldMetadata", "POST", "/v1/table/{id}/update_field_metadata"],
  ["UpdateTableSchemaMetadata", "POST", "/v1/table/{id}/schema_metadata/update"],
  ["ListTableVersions", "POST", "/v1/table/{id}/version/list"],
  ["DescribeTableVersion", "POST", "/v1/table/{id}/version/describe"],
  ["BatchDeleteTableVersions", "POST", "/v1/table/{id}/version/delete"],
  ["CreateTableVersion", "POST", "/v1/table/{id}/version/create"],
  ["BatchCreateTableVersions", "POST", "/v1/table/version/batch-create"],
  ["BatchCommitTables", "POST", "/v1/table/batch-commit"],
  ["RestoreTable", "POST", "/v1/table/{id}/restore"],
  ["ListTableTags", "GET POST", "/v1/table/{id}/tags/list"],
  ["GetTableTagVersion", "POST", "/v1/table/{id}/tags/version"],
  ["CreateTableTag", "POST", "/v1/table/{id}/tags/create"],
  ["UpdateTableTag", "POST", "/v1/table/{id}/tags/update"],
  ["DeleteTableTag", "POST", "/v1/table/{id}/tags/delete"],
  ["ListTableBranches", "POST", "/v1/table/{id}/branches/list"],
  ["CreateTableBranch", "POST", "/v1/table/{id}/branches/create"],
  ["DeleteTableBranch", "POST", "/v1/table/{id}/branches/delete"],
  ["DescribeTransaction", "POST", "/v1/transaction/{id}/describe"],
  ["AlterTransaction", "POST", "/v1/transaction/{id}/alter"],
  ["DescribeJob", "POST", "/v1/jobs/describe"],
  ["ListJobs", "POST", "/v1/jobs/list"],
  ["CancelJob", "POST", "/v1/jobs/cancel"],
  ["PauseJob", "POST", "/v1/jobs/pause"],
  ["ResumeJob", "POST", "/v1/jobs/resume"],
  ["QueryJobEvents", "POST", "/v1/jobs/query_events"],
];
const arrow = ["CreateTable", "InsertIntoTable", "MergeInsertIntoTable"];
const queries = ["QueryTable", "ExplainTableQueryPlan", "AnalyzeTableQueryPlan"];
/** Operations that receive the body undecoded. */
const raw = [...queries, "ExecuteSql", "UpdateTableSchemaMetadata"];
/** Operations with an effect beyond the rows of one table. */
const administrative = [
  "RegisterTable",
  "DeregisterTable",
  "BatchDeleteTableVersions",
  "AlterTransaction",
  "CancelJob",
  "PauseJob",
  "ResumeJob",
];
/** Operations of which only some requests have such an effect: see roles.test.ts. */
const partlyAdministrative = [
  "CreateNamespace",
  "DropNamespace",
  "CreateTable",
  "DeclareTable",
  "UpdateTable",
  "AlterTableAddColumns",
  "AlterTableAlterColumns",
  "UpdateFieldMetadata",
  "CreateMaterializedView",
  "BatchCommitTables",
];
const writes =
  /^(Create|Drop|Rename|Insert|Delete|Merge|Update|Alter|Restore|Batch|Register|Deregister|Declare|Refresh|Compact|CancelJob|PauseJob|ResumeJob)/;

describe("the contract of the operations", () => {
  it("lists exactly the operations of the public interface with their methods and paths", () => {
    const declared = contract.map(({ id, methods, path }) => [
      id,
      [...methods].sort().join(" "),
      path,
    ]);
    expect(declared.sort()).toEqual([...expected].sort());
  });

  it("declares the body kind of the public interface for each operation", () => {
    for (const { id, body } of contract) {
      const kind = arrow.includes(id) ? "arrow" : raw.includes(id) ? "raw-json" : "json";
      expect([id, body.kind]).toEqual([id, kind]);
    }
  });

  it("requires write for changes and admin for changes that reach beyond one table", () => {
    for (const { id, permission } of contract) {
      const changing = administrative.includes(id) ? "admin" : "write";
      expect([id, permission]).toEqual([id, writes.test(id) ? changing : "read"]);
    }
    const partly = contract.filter((operation) => operation.administrative);
    expect(partly.map(({ id }) => id).sort()).toEqual([...partlyAdministrative].sort());
  });

  it("declares a summary, a tag and a reply schema for each operation", () => {
    const silent = [
      "NamespaceExists",
      "TableExists",
      "QueryTable",
      "ExecuteSql",
      "ReadTableChanges",
      "QueryJobEvents",
    ];
    for (const { id, summary, tag, reply } of contract) {
      expect(summary).toMatch(/^[A-Z]/);
      expect(tag).toMatch(
        /^(Namespace|Table|Index|Column|Version|Tag|Branch|View|Transaction|Job|SQL)$/,
      );
      expect([id, reply === undefined]).toEqual([id, silent.includes(id)]);
    }
  });

  it("has a unique id for each operation", () => {
    const ids = operations.map((operation) => operation.id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

const file = fileURLToPath(new URL("../../../shared/contract/openapi.yaml", import.meta.url));

/** replies.test.ts and test/api/errors check that a test reaches each operation. */
describe.skipIf(!existsSync(file))("the OpenAPI document of the public interface", () => {
  it("lists only operations that have a handler and a permission", () => {
    const { paths } = parse(readFileSync(file, "utf8"));
    const named = Object.values<object>(paths).flatMap((item) =>
      Object.values(item).flatMap(({ operationId }) => operationId ?? []),
    );
    expect(named).toHaveLength(54);
    const served = new Map(contract.map((operation) => [operation.id, operation]));
    const lacking = named.filter((id) => {
      const operation = served.get(id);
      return typeof operation?.handle !== "function" || !isRole(operation.permission);
    });
    expect(lacking).toEqual([]);
  });
});
/** Operations that only LanceDB SDKs use: id, permission, methods, path. */
const ofLancedb: [string, string, string, string][] = [
  ["CloneTable", "write", "POST", "/v1/table/{id}/clone"],
  ["CreateMultipartWrite", "write", "POST", "/v1/table/{id}/multipart_write/create"],
  ["CompleteMultipartWrite", "write", "POST", "/v1/table/{id}/multipart_write/complete"],
  ["AbortMultipartWrite", "write", "POST", "/v1/table/{id}/multipart_write/abort"],
  ["FetchTableBlobs", "read", "POST", "/v1/table/{id}/fetch_blobs/"],
  ["GetTableBlobBytes", "read", "GET", "/v1/table/{id}/blob/{column}/{row_id}/bytes"],
  ["PrewarmTableIndex", "read", "POST", "/v1/table/{id}/index/{index_name}/prewarm/"],
  ["PrewarmTablePageCache", "read", "POST", "/v1/table/{id}/page_cache/prewarm/"],
  ["DiffTableBranch", "read", "POST", "/v1/table/{id}/branches/diff/"],
  ["ListGrants", "admin", "POST", "/admin/authz/acl/list"],
  ["AddGrant", "admin", "POST", "/admin/authz/acl/add"],
  ["DeleteGrant", "admin", "POST", "/admin/authz/acl/delete"],
  ["ListRoleBindings", "admin", "POST", "/admin/authz/role_binding/list"],
  ["AddRoleBinding", "admin", "POST", "/admin/authz/role_binding/add"],
  ["DeleteRoleBinding", "admin", "POST", "/admin/authz/role_binding/delete"],
  ["DescribePrincipal", "admin", "POST", "/admin/authz/principal"],
  ["DescribeGroup", "admin", "POST", "/admin/authz/group"],
  ["CherryPickTableBranch", "write", "POST", "/v1/table/{id}/branches/cherry_pick/"],
];

describe("the LanceDB dialect", () => {
  const byId = new Map(translations.map((translation) => [translation.operation, translation]));

  it("serves every operation at the same path with a trailing slash and lists the root on its own path", () => {
    for (const [id] of expected) {
      if (id === "ListAllTables") expect(byId.has(id)).toBe(false);
      else expect(byId.get(id)?.path).toBe(id === "ListTables" ? "/v1/table/" : undefined);
    }
    expect(translations).toHaveLength(expected.length - 1 + lancedbOnly.length);
  });

  it("serves operations that no other dialect has, at unchanged paths", () => {
    const others = new Set(unserved.map(({ id }) => id));
    const served = lancedbOnly.filter(({ id }) => !others.has(id));
    const reported = served.map(({ id, permission, methods, path }) => [
      id,
      permission,
      methods.join(" "),
      path,
    ]);
    expect(reported.sort()).toEqual([...ofLancedb].sort());
    for (const { id, dialect } of lancedbOnly) {
      expect([id, dialect, byId.get(id)?.path]).toEqual([id, "lancedb", undefined]);
    }
  });

  it("answers operations that joust does not support and requires only read for them", () => {
    expect(unserved).toHaveLength(25);
    expect(unserved.every(({ permission }) => permission === "read")).toBe(true);
  });
});
