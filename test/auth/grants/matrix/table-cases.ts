/** The requests of the operations on namespaces, tables and rows. */
import { items } from "../../../harness/arrow.js";
import { broken, type Cases, inSpace, json, type Names, onTable, refusesArrow } from "./case.js";

const changes = ["insert", "update", "delete"] as const;
const steered = { "joust.keep_versions": "1d" };
const inParams = (properties: object) => () => ({ properties: JSON.stringify(properties) });
const target = ({ space, table }: Names) => [space, table];
const scratch = ({ space, scratch }: Names) => [space, scratch];
const onScratch = (names: Names) => `table:${scratch(names).join("$")}`;
const virtual_column = { input_columns: ["id"], udf: "AAAA", udf_name: "f", data_type: "int64" };
const rows = () => items(1);
const notArrow = () => broken;
const version = { version: 99, manifest_path: "x" };

export const tableCases: Cases = {
  CreateNamespace: [
    {},
    json(() => ({ mode: "Overwrite" }), {
      title: "that replaces what is there",
      also: ({ space, n }) => [[`namespace:${space}$new${n}`, "manage"]],
    }),
  ],
  ListNamespaces: [{}],
  DescribeNamespace: [{}],
  NamespaceExists: [{}],
  DropNamespace: [
    { fresh: "namespace", id: ({ space, fresh }) => [space, fresh] },
    json(() => ({ behavior: "Cascade" }), {
      title: "with its content",
      fresh: "namespace",
      id: ({ space, fresh }) => [space, fresh],
      also: ({ space, fresh }) => [[`namespace:${space}$${fresh}`, "manage"]],
    }),
  ],

  CreateTable: [
    { body: rows },
    {
      title: "that replaces a table",
      id: target,
      params: () => ({ mode: "overwrite" }),
      body: notArrow,
      also: (names) => [[onTable(names), ...changes]],
      admitted: refusesArrow,
    },
    {
      title: "with properties of the server",
      params: inParams(steered),
      body: rows,
      also: (names) => [[inSpace(names), "manage"]],
    },
  ],
  DescribeTable: [{}],
  TableExists: [{}],
  ListTables: [{}],
  ListAllTables: [{}],
  ListMaterializedViews: [{}],
  DropTable: [{ fresh: "table" }],
  RenameTable: [
    json(({ n }) => ({ new_table_name: `new${n}` }), {
      fresh: "table",
      also: (names) => [[inSpace(names), "create"]],
    }),
    json(({ n }) => ({ new_table_name: `new${n}`, new_namespace_id: ["vault"] }), {
      title: "to another namespace",
      fresh: "table",
      // It has its privileges everywhere, so that it gains none by a move.
      role: "write",
      also: (names) => [
        ["namespace:vault", "create"],
        [onTable(names), "manage"],
      ],
    }),
  ],
  GetTableStats: [{}],
  RegisterTable: [
    json(() => ({ location: "nothing.lance" }), { admitted: [400, /no Lance table/] }),
  ],
  DeregisterTable: [{ fresh: "table" }],
  DeclareTable: [
    {},
    json(({ n }) => ({ location: `new${n}` }), {
      title: "with a location",
      also: () => [["server", "manage"]],
    }),
    json(() => ({ properties: steered }), {
      title: "with properties of the server",
      also: (names) => [[inSpace(names), "manage"]],
    }),
  ],
  CloneTable: [
    json(({ location }) => ({ source_location: location }), {
      also: (names) => [[onTable(names), "select"]],
    }),
    json(() => ({ source_location: "nothing.lance" }), {
      title: "of files that belong to no table",
      also: () => [["server", "manage"]],
      admitted: [404, /files do not exist/],
    }),
  ],
  CompactTable: [{}],

  InsertIntoTable: [
    { body: rows },
    {
      title: "that replaces the rows",
      params: () => ({ mode: "overwrite" }),
      body: notArrow,
      also: (names) => [[onTable(names), ...changes]],
      admitted: refusesArrow,
    },
    {
      title: "as a part of an upload",
      fresh: "upload",
      params: ({ fresh }) => ({ upload_id: fresh }),
      body: rows,
    },
  ],
  DeleteFromTable: [json(() => ({ predicate: "false" }))],
  CountTableRows: [{}],
  MergeInsertIntoTable: (
    [
      ["when_not_matched_insert_all", "insert"],
      ["when_matched_update_all", "update"],
      ["when_not_matched_by_source_delete", "delete"],
    ] as const
  ).map(([option, privilege]) => ({
    title: `that may ${privilege}`,
    params: () => ({ on: "id", [option]: "true" }),
    body: privilege === "insert" ? rows : notArrow,
    also: (names) => [[onTable(names), privilege]],
    ...(privilege !== "insert" && { admitted: refusesArrow }),
  })),
  UpdateTable: [
    json(() => ({ predicate: "false", updates: [["price", "1"]] })),
    json(() => ({ predicate: "false", updates: [["price", "1"]], properties: steered }), {
      title: "with properties of the server",
      also: (names) => [[onTable(names), "manage"]],
    }),
  ],
  ReadTableChanges: [json(() => ({ from_version: 1 }))],
  CreateMultipartWrite: [{}],
  CompleteMultipartWrite: [
    { fresh: "upload", params: ({ fresh }) => ({ upload_id: fresh }) },
    {
      title: "that replaces the rows",
      fresh: "replacing upload",
      params: ({ fresh }) => ({ upload_id: fresh }),
      also: (names) => [[onTable(names), ...changes]],
    },
  ],
  AbortMultipartWrite: [{ fresh: "upload", params: ({ fresh }) => ({ upload_id: fresh }) }],
  FetchTableBlobs: [json(() => ({ column: "id", row_ids: [0] }), { admitted: [400, /blob/] })],
  GetTableBlobBytes: [{ path: { column: "id", row_id: "0" }, admitted: [400, /blob/] }],

  QueryTable: [json(() => ({ k: 1, vector: {} }))],
  ExplainTableQueryPlan: [json(() => ({ query: { k: 1, vector: {} } }))],
  AnalyzeTableQueryPlan: [json(() => ({ k: 1, vector: {} }))],

  AlterTableAddColumns: [
    json(({ n }) => ({ new_columns: [{ name: `new${n}`, expression: "1" }] }), { id: scratch }),
    json(({ n }) => ({ new_columns: [{ name: `new${n}`, virtual_column }] }), {
      title: "with a function",
      id: scratch,
      also: (names) => [[onScratch(names), "manage"]],
    }),
  ],
  AlterTableAlterColumns: [
    json(() => ({ alterations: [{ path: "price", nullable: true }] }), { id: scratch }),
    json(() => ({ alterations: [{ path: "price", virtual_column: { udf_name: "g" } }] }), {
      title: "with a function",
      id: scratch,
      also: (names) => [[onScratch(names), "manage"]],
      admitted: [400, /price/],
    }),
  ],
  AlterTableDropColumns: [json(() => ({ columns: ["price"] }), { fresh: "table" })],
  AlterTableBackfillColumns: [json(() => ({ column: "price" }), { admitted: [400, /price/] })],
  ListRowErrors: [json(() => ({ column: "price" }))],
  UpdateFieldMetadata: [
    json(() => ({ updates: [{ path: "id", metadata: { unit: "m" } }] })),
    json(() => ({ updates: [{ path: "id", metadata: { "virtual_column.image": "x" } }] }), {
      title: "with a function",
      id: scratch,
      also: (names) => [[onScratch(names), "manage"]],
    }),
  ],
  UpdateTableSchemaMetadata: [json(() => ({ owner: "me" }))],

  ListTableVersions: [{}],
  DescribeTableVersion: [json(() => ({ version: 1 }))],
  BatchDeleteTableVersions: [
    json(() => ({ ranges: [{ start_version: 0, end_version: 1 }] }), { id: scratch }),
  ],
  CreateTableVersion: [json(() => version, { admitted: [400, /not a staged manifest/] })],
  BatchCreateTableVersions: [
    json(({ space, table }) => ({ entries: [{ id: [space, table], ...version }] }), {
      also: (names) => [[onTable(names), ...changes]],
      admitted: [400, /not a staged manifest/],
    }),
  ],
  BatchCommitTables: [
    json(({ space, n }) => ({ operations: [{ declare_table: { id: [space, `new${n}`] } }] }), {
      title: "that declares",
      also: (names) => [[inSpace(names), "create"]],
    }),
    json(
      ({ space, n }) => ({
        operations: [{ declare_table: { id: [space, `new${n}`], properties: steered } }],
      }),
      {
        title: "that declares with properties of the server",
        also: (names) => [
          [inSpace(names), "create"],
          [inSpace(names), "manage"],
        ],
      },
    ),
    json(
      ({ space, n }) => ({
        operations: [{ declare_table: { id: [space, `new${n}`], location: `new${n}` } }],
      }),
      {
        title: "that declares with a location",
        also: (names) => [
          [inSpace(names), "create"],
          ["server", "manage"],
        ],
      },
    ),
    json(
      ({ space, table }) => ({
        operations: [{ create_table_version: { id: [space, table], ...version } }],
      }),
      {
        title: "that creates a version",
        also: (names) => [[onTable(names), ...changes]],
        admitted: [400, /not a staged manifest/],
      },
    ),
    json(({ space, table }) => ({ operations: [{ deregister_table: { id: [space, table] } }] }), {
      title: "that deregisters",
      fresh: "table",
      also: (names) => [[onTable(names), "manage"]],
    }),
    json(
      (names) => ({
        operations: [
          {
            delete_table_versions: {
              id: scratch(names),
              ranges: [{ start_version: 0, end_version: 1 }],
            },
          },
        ],
      }),
      {
        title: "that deletes versions",
        also: (names) => [[onScratch(names), "manage"]],
      },
    ),
  ],
  RestoreTable: [json(() => ({ version: 1 }), { id: scratch })],
};
