/**
 * What each operation needs, written by hand from docs/secure.md and the meaning of the operations, and never from their
 * declarations: access.test.ts compares both. For a new operation decide here first: what does it reveal or change, and
 * on which object?
 */
import type { AccessObject, Requirement } from "../../../src/api/access.js";
import type { Call } from "../../../src/api/operation.js";
import type { Privilege } from "../../../src/catalog/grants/privileges.js";

export interface ExpectedAccess {
  /** The object of the request. */
  readonly on: AccessObject;
  /** Every request needs them. None: it suffices that the caller sees the object. */
  readonly privileges: readonly Privilege[];
  /** Some requests need them in addition. */
  readonly sometimes?: readonly Privilege[];
  /** Some requests need `manage` although others do not. test/api/roles.test.ts sends both kinds. */
  readonly administrative?: true;
}

const on = (object: AccessObject, ...privileges: Privilege[]): ExpectedAccess => ({
  on: object,
  privileges,
});
const sometimes = (access: ExpectedAccess, ...privileges: Privilege[]): ExpectedAccess => ({
  ...access,
  sometimes: privileges,
});
const partlyAdmin = (access: ExpectedAccess): ExpectedAccess => ({
  ...access,
  administrative: true,
});

/** Describes an object without its rows: every caller that sees the object. */
const sight = on("table");
/** Reveals rows, or values derived from them. */
const read = on("table", "select");
/** Refused for every caller, or the same for all callers. */
const anyone = on("nothing");
/** Replaces the content as a whole: rows appear, change and disappear. */
const rewrite = on("table", "insert", "update", "delete");

/** Operations by the least role that covers them, as the table of roles in docs/secure.md says. */
export const expectedAccess: Record<
  "read" | "write" | "admin",
  Readonly<Record<string, ExpectedAccess>>
> = {
  // Query, list, describe, load into memory, read /metrics.
  read: {
    ListNamespaces: on("namespace"),
    DescribeNamespace: on("namespace"),
    NamespaceExists: on("namespace"),
    ListTables: on("namespace"),
    ListMaterializedViews: on("namespace"),
    // Both show only tables that the caller sees.
    ListAllTables: anyone,
    ListJobs: anyone,

    DescribeTable: sight,
    TableExists: sight,
    DescribeMaterializedView: read,
    ListTableIndices: sight,
    DescribeTableIndexStats: sight,
    ListTableVersions: sight,
    DescribeTableVersion: sight,
    ListTableTags: sight,
    GetTableTagVersion: sight,
    ListTableBranches: sight,
    DescribeJob: on("job table"),
    QueryJobEvents: on("job table"),
    DescribeTransaction: on("transaction object"),

    GetTableStats: read,
    CountTableRows: read,
    QueryTable: read,
    ExplainTableQueryPlan: read,
    AnalyzeTableQueryPlan: read,
    ReadTableChanges: read,
    // The errors quote values of the rows.
    ListRowErrors: read,
    FetchTableBlobs: read,
    GetTableBlobBytes: read,
    DiffTableBranch: read,
    // A statement that changes something is authorized as the operations that it runs.
    ExecuteSql: on("named tables", "select"),

    // Takes memory of the server for the rows.
    PrewarmTable: read,
    PrewarmTableIndex: read,
    PrewarmTablePageCache: read,

    // The token of the job decides, which the body has.
    ClaimRemoteJob: anyone,
    GetRemoteOrder: anyone,
    ReportRemoteWork: anyone,

    GetMetrics: on("server", "select"),
    GetOpenApiDocument: anyone,
    GetRteStats: anyone,
    GetRteSpec: anyone,
    GetLsmStats: anyone,
    GetLsmWriteSpec: anyone,
    UnservedPostV1SecretIdCreate: anyone,
    UnservedPostV1SecretIdAlter: anyone,
    UnservedPostV1SecretIdDrop: anyone,
    UnservedPostV1SecretIdDescribe: anyone,
    UnservedGetV1NamespaceIdSecretList: anyone,
    UnservedPostV1FunctionIdCreate: anyone,
    UnservedPostV1FunctionIdDescribe: anyone,
    UnservedPostV1FunctionIdDrop: anyone,
    UnservedGetV1NamespaceIdFunctionList: anyone,
    UnservedPostV1ViewIdCreate: anyone,
    UnservedPostV1ViewIdDescribe: anyone,
    UnservedPostV1ViewIdDrop: anyone,
    UnservedGetV1NamespaceIdViewList: anyone,
    UnservedPostV1TableIdFlushRte: anyone,
    UnservedPostV1TableIdCompactRte: anyone,
    UnservedPostV1TableIdEnableRte: anyone,
    UnservedPostV1TableIdDisableRte: anyone,
    UnservedPostV1TableIdFlushLsm: anyone,
    UnservedPostV1TableIdCompactLsm: anyone,
    UnservedPostV1TableIdSetLsmWriteSpec: anyone,
    UnservedPostV1TableIdUnsetLsmWriteSpec: anyone,
  },

  // Create, fill, change, rename and drop tables, views, indexes, tags and branches; create and drop namespaces.
  write: {
    // Administrative: replacing a namespace drops what is in it.
    CreateNamespace: partlyAdmin(on("new namespace", "create")),
    // Administrative: Cascade drops what is in it.
    DropNamespace: partlyAdmin(on("namespace", "drop")),

    // Administrative: properties of the server. `overwrite` replaces the rows of a table.
    CreateTable: partlyAdmin(sometimes(on("new table", "create"), "insert", "update", "delete")),
    // Administrative: locations and properties of the server.
    DeclareTable: partlyAdmin(on("new table", "create")),
    // Administrative: files that belong to no table. The source needs `select`, which the catalog of the caller demands.
    CloneTable: partlyAdmin(on("new table", "create")),
    DropTable: on("table", "drop"),
    // The name disappears, and another one appears.
    RenameTable: sometimes(on("table", "drop"), "create"),

    // `overwrite` replaces the rows.
    InsertIntoTable: sometimes(on("table", "insert"), "update", "delete"),
    // Its options say which of them.
    MergeInsertIntoTable: sometimes(on("table"), "insert", "update", "delete"),
    // Administrative: properties of the server.
    UpdateTable: partlyAdmin(on("table", "update")),
    DeleteFromTable: on("table", "delete"),
    CreateMultipartWrite: on("table", "insert"),
    // The parts of the upload may replace the rows.
    CompleteMultipartWrite: sometimes(on("table", "insert"), "update", "delete"),
    AbortMultipartWrite: on("table", "insert"),
    // Changes files, no content.
    CompactTable: on("table", "update"),

    // Administrative: functions that the server or other tools run.
    AlterTableAddColumns: partlyAdmin(on("table", "create")),
    AlterTableAlterColumns: partlyAdmin(on("table", "update")),
    UpdateFieldMetadata: partlyAdmin(on("table", "update")),
    AlterTableDropColumns: on("table", "drop"),
    AlterTableBackfillColumns: on("table", "update"),
    UpdateTableSchemaMetadata: on("table", "update"),

    CreateTableIndex: on("table", "create"),
    CreateTableScalarIndex: on("table", "create"),
    DropTableIndex: on("table", "drop"),

    CreateTableTag: on("table", "create"),
    UpdateTableTag: on("table", "update"),
    DeleteTableTag: on("table", "drop"),
    CreateTableBranch: on("table", "create"),
    DeleteTableBranch: on("table", "drop"),
    // Columns of the branch appear in the table.
    CherryPickTableBranch: on("table", "update", "create"),
    RestoreTable: rewrite,
    CreateTableVersion: rewrite,
    BatchCreateTableVersions: sometimes(on("body"), "insert", "update", "delete"),
    // Administrative: deregistering, deleting versions, locations and properties of the server.
    BatchCommitTables: partlyAdmin(sometimes(on("body"), "create", "insert", "update", "delete")),

    // The sources need `select`, which the catalog of the caller demands.
    CreateMaterializedView: partlyAdmin(on("new table", "create")),
    // `select` on the sources of the view.
    RefreshMaterializedView: sometimes(on("table", "update"), "select"),
    RefreshTable: sometimes(on("table", "update"), "select"),
    DropMaterializedView: on("table", "drop"),
  },

  // What reaches beyond the content of tables.
  admin: {
    // The location is the caller's choice.
    RegisterTable: on("server", "manage"),
    DeregisterTable: on("table", "manage"),
    BatchDeleteTableVersions: on("table", "manage"),
    CancelJob: on("job table", "manage"),
    PauseJob: on("job table", "manage"),
    ResumeJob: on("job table", "manage"),
    AlterTransaction: on("transaction object", "manage"),
    // `grant` on the object that the body names, or on the server.
    ListGrants: sometimes(on("body"), "grant"),
    AddGrant: sometimes(on("body"), "grant"),
    DeleteGrant: sometimes(on("body"), "grant"),
    ListRoleBindings: sometimes(on("body"), "grant"),
    AddRoleBinding: sometimes(on("body"), "grant"),
    DeleteRoleBinding: sometimes(on("body"), "grant"),
    DescribePrincipal: sometimes(on("body"), "grant"),
    DescribeGroup: sometimes(on("body"), "grant"),
  },
};

/** What the content of a request needs in addition, by object (see `objectOf`). The path names `n$t`. */
export interface ConditionalAccess {
  readonly request: Partial<Pick<Call<unknown, unknown>, "params" | "payload">>;
  readonly needs: readonly (readonly [object: string, ...privileges: Requirement["privileges"]])[];
}

const all = ["insert", "update", "delete"] as const;
const params = (one: object, ...needs: ConditionalAccess["needs"]): ConditionalAccess => ({
  request: { params: one },
  needs,
});
const body = (one: object, ...needs: ConditionalAccess["needs"]): ConditionalAccess => ({
  request: { payload: one },
  needs,
});
const batch = (one: object, ...needs: ConditionalAccess["needs"]): ConditionalAccess =>
  body({ operations: [one] }, ...needs);

export const conditionalAccess: Readonly<Record<string, readonly ConditionalAccess[]>> = {
  CreateTable: [
    params({}),
    params({ mode: "create" }),
    params({ mode: "exist_ok" }),
    params({ mode: "overwrite" }, ["table:n$t", ...all]),
    params({ mode: "Overwrite" }, ["table:n$t", ...all]),
  ],
  InsertIntoTable: [
    params({}),
    params({ mode: "append" }),
    params({ mode: "overwrite" }, ["table:n$t", ...all]),
    params({ mode: "OVERWRITE" }, ["table:n$t", ...all]),
  ],
  MergeInsertIntoTable: [
    params({ on: ["id"] }, ["table:n$t", "insert"]),
    params({ when_not_matched_insert_all: true }, ["table:n$t", "insert"]),
    params({ when_matched_update_all: true }, ["table:n$t", "update"]),
    params({ when_matched_update_all_filt: "true" }, ["table:n$t", "update"]),
    params({ when_not_matched_by_source_delete: true }, ["table:n$t", "delete"]),
    params({ when_not_matched_by_source_delete_filt: "true" }, ["table:n$t", "delete"]),
    params(
      {
        when_not_matched_insert_all: true,
        when_matched_update_all: true,
        when_not_matched_by_source_delete: true,
      },
      ["table:n$t", ...all],
    ),
  ],
  UpdateTable: [
    body({ updates: [["a", "1"]] }),
    // Properties belong to all rows.
    body({ updates: [["a", "1"]], properties: { a: "b" } }, ["table:n$t", "update"]),
  ],
  RenameTable: [
    body({ new_table_name: "u" }, ["namespace:n", "create"]),
    body({ new_table_name: "u", new_namespace_id: ["n"] }, ["namespace:n", "create"]),
    body(
      { new_table_name: "u", new_namespace_id: ["m"] },
      ["namespace:m", "create"],
      ["table:n$t", "manage"],
    ),
    body(
      { new_table_name: "u", new_namespace_id: [] },
      ["server", "create"],
      ["table:n$t", "manage"],
    ),
  ],
  BatchCreateTableVersions: [
    body(
      { entries: [{ id: ["a"] }, { id: ["b", "c"] }] },
      ["table:a", ...all],
      ["table:b$c", ...all],
    ),
  ],
  BatchCommitTables: [
    batch({ declare_table: { id: ["n", "u"] } }, ["namespace:n", "create"]),
    batch(
      { declare_table: { id: ["n", "u"], properties: { "joust.maintenance": "off" } } },
      ["namespace:n", "create"],
      ["namespace:n", "manage"],
    ),
    batch(
      { declare_table: { id: ["n", "u"], location: "elsewhere" } },
      ["namespace:n", "create"],
      ["server", "manage"],
    ),
    batch({ create_table_version: { id: ["n", "u"] } }, ["table:n$u", ...all]),
    batch({ delete_table_versions: { id: ["n", "u"] } }, ["table:n$u", "manage"]),
    batch({ deregister_table: { id: ["n", "u"] } }, ["table:n$u", "manage"]),
  ],
  ListGrants: [
    body({}, ["server", "grant"]),
    body({ object: "database:n" }, ["namespace:n", "grant"]),
  ],
  // A caller gives no privilege that it does not have.
  AddGrant: [
    body({ object: "database:n", privilege: "SELECT" }, ["namespace:n", "grant", "select"]),
    body({ object: "table:n:public$t", privilege: "OPERATE" }, ["table:n$t", "grant", "manage"]),
    body({ object: "system", privilege: "OWNERSHIP" }, [
      "server",
      ...(["grant", "select", "insert", "update", "delete", "create", "drop", "manage"] as const),
    ]),
  ],
  DeleteGrant: [
    body({ object: "database:n", privilege: "SELECT" }, ["namespace:n", "grant"]),
    body({ object: "system", privilege: "SELECT" }, ["server", "grant"]),
  ],
  ListRoleBindings: [body({}, ["server", "grant"])],
  AddRoleBinding: [
    body({ role: "read" }, ["server", "grant", "select"]),
    body({ role: "write" }, ["server", "grant", "select", ...all, "create", "drop"]),
  ],
  DeleteRoleBinding: [body({ role: "admin" }, ["server", "grant"])],
  DescribePrincipal: [body({}, ["server", "grant"])],
  DescribeGroup: [body({}, ["server", "grant"])],
};

/**
 * Their condition is about stored state: grants.test.ts has the tests of the definitions of views, and
 * multipart-writes.test.ts those of uploads.
 */
export const readsState: readonly string[] = [
  "CompleteMultipartWrite",
  "DescribeMaterializedView",
  "RefreshMaterializedView",
  "RefreshTable",
];
