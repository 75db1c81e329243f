import { type Case, errors, failure } from "../case.js";

const create = (
  why: string,
  body: object,
  error: readonly [number, number],
  detail: RegExp,
  name = "n",
): Case =>
  failure(
    "CreateMaterializedView",
    why,
    `/v1/materialized_view/ns$${name}/create`,
    body,
    error,
    detail,
  );

const select = { query: "SELECT id FROM t" };

const refresh = (
  why: string,
  body: object,
  error: readonly [number, number],
  detail: RegExp,
  name = "v",
): Case[] => [
  failure(
    "RefreshMaterializedView",
    why,
    `/v1/materialized_view/ns$${name}/refresh`,
    body,
    error,
    detail,
  ),
  failure("RefreshTable", why, `/v1/table/ns$${name}/refresh`, body, error, detail),
];

const backfill = (
  why: string,
  body: object,
  error: readonly [number, number],
  detail: RegExp,
): Case =>
  failure("AlterTableBackfillColumns", why, "/v1/table/ns$t/backfill_column", body, error, detail);

/** Views, and the jobs of tables. */
export const views: Case[] = [
  create("a view exists", select, errors.tableExists, /ns\$v/, "v"),
  create("a table exists", select, errors.tableExists, /ns\$t/, "t"),
  create("no table to read", { query: "SELECT id FROM no" }, errors.noTable, /no/),
  create(
    "no namespace to read from",
    { query: "SELECT id FROM nowhere.t" },
    errors.noNamespace,
    /nowhere/,
  ),
  create("no SQL", { query: "SELEKT id" }, errors.invalid, /./),
  create("no query at all", {}, errors.invalid, /kind|query/),
  create(
    "a function's kind",
    { kind: "udtf", source_query: "x", output_schema: "x" },
    errors.unsupported,
    /udtf/,
  ),
  create(
    "unknown kind",
    { kind: "x", source_query: "x", output_schema: "x" },
    errors.invalid,
    /kind/,
  ),
  create("both forms", { ...select, kind: "query" }, errors.invalid, /both/),
  create(
    "an interval of a view that does not refresh itself",
    { ...select, auto_refresh_interval_seconds: 5 },
    errors.invalid,
    /auto_refresh/,
  ),
  create(
    "a schema that is no base64",
    { kind: "query", source_query: "SELECT 1", output_schema: "!" },
    errors.invalid,
    /output_schema/,
  ),
  ...refresh("no view", {}, errors.state, /view/, "t"),
  ...refresh("unknown version", { src_version: 99 }, errors.noVersion, /99/),
  ...refresh(
    "a limit of another kind of view",
    { output_limit: 1 },
    errors.invalid,
    /output_limit/,
  ),
  failure(
    "DescribeMaterializedView",
    "no view",
    "/v1/materialized_view/ns$t/describe",
    {},
    errors.state,
    /view/,
  ),
  failure(
    "DropMaterializedView",
    "no view",
    "/v1/materialized_view/ns$t/drop",
    {},
    errors.state,
    /view/,
  ),
  failure(
    "ListMaterializedViews",
    "a forged token",
    "/v1/namespace/ns/materialized_view/list",
    { page_token: "x" },
    errors.invalid,
    /page_token/,
  ),
  failure(
    "DeleteFromTable",
    "it is a view",
    "/v1/table/ns$v/delete",
    { predicate: "true" },
    errors.state,
    /view/,
  ),
  backfill("unknown column", { column: "no" }, errors.noColumn, /no/),
  backfill("a column that nothing computes", { column: "price" }, errors.invalid, /price/),
  backfill("unknown branch", { column: "price", branch: "no" }, errors.noBranch, /no/),
  failure(
    "CompactTable",
    "unknown branch",
    "/v1/table/ns$t/compact",
    { branch: "no" },
    errors.noBranch,
    /no/,
  ),
  failure(
    "CompactTable",
    "a share above one",
    "/v1/table/ns$t/compact",
    { materialize_deletions_threshold: 2 },
    errors.invalid,
    /materialize_deletions_threshold/,
  ),
  failure(
    "ListRowErrors",
    "no job",
    "/v1/table/ns$t/errors",
    { job_id: "nobody" },
    errors.noTransaction,
    /nobody/,
  ),
];
