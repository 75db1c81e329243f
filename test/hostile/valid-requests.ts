/** Valid requests of every operation. An operation without an entry gets the smallest value of its schema. */

import { minimalBodies } from "../api/errors/cases/all-operations.js";
import { minimal } from "../api/errors/wrong-values.js";
import type { Json } from "../harness/client.js";
import type { Draw } from "./draw.js";
import { type Known, SPACE } from "./known.js";
import type { Place } from "./places.js";

const vector = [0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6];

const queries: readonly Json[] = [
  { k: 3, vector: {} },
  { k: 3, vector: { single_vector: vector } },
  { k: 2, vector, columns: ["id", "name"], with_row_id: true },
  { k: 5, vector: { single_vector: vector }, filter: "id > 20", prefilter: true, nprobes: 4 },
  { k: 5, vector: { multi_vector: [vector, vector] }, refine_factor: 2, bypass_vector_index: true },
  { k: 4, vector: {}, full_text_query: { string_query: { query: "item 7", columns: ["name"] } } },
  {
    k: 4,
    vector: {},
    full_text_query: {
      structured_query: { query: { match: { column: "name", terms: "itm", fuzziness: 1 } } },
    },
  },
  { k: 4, vector, full_text_query: { string_query: { query: "item" } }, hybrid: {} },
  { k: 4, vector: {}, filter: "category = 'c1'", offset: 2, order_by: [{ column_name: "price" }] },
  { k: 4, vector, distance_type: "cosine", lower_bound: 0, upper_bound: 2, ef: 40 },
];

type Bodies = (draw: Draw, known: Known) => readonly Json[];

const jobs: Bodies = (_, { job }) => [{ job_id: job }];
const branches = () => [{ from_branch: "dev" }];

const bodies: Readonly<Record<string, Bodies>> = {
  CreateNamespace: () => [{ mode: "exist_ok", properties: { a: "1" } }],
  ListNamespaces: () => [{ limit: 2 }, {}],
  ListTables: () => [{ limit: 1 }, { include_declared: true }],
  DescribeTable: () => [{}, { with_table_uri: true, load_detailed_metadata: true, version: 1 }],
  RenameTable: () => [{ new_table_name: "renamed" }],
  RegisterTable: () => [{ location: "copies/t", mode: "OVERWRITE" }],
  CompactTable: () => [{ concurrency: 1 }],
  DeleteFromTable: () => [{ predicate: "id = 1" }, { predicate: "false" }],
  CountTableRows: () => [{}, { predicate: "id > 3" }, { version: 1 }],
  UpdateTable: () => [{ updates: [["price", "price + 1"]], predicate: "id < 3" }],
  ReadTableChanges: () => [{ from_version: 1 }, { from_version: 0, to_version: 1 }],
  QueryTable: () => queries,
  AnalyzeTableQueryPlan: () => queries,
  ExplainTableQueryPlan: () => queries.map((query) => ({ query, verbose: true })),
  ExecuteSql: () => [
    { query: "SELECT id, name FROM h.items WHERE id < 5" },
    { query: "SELECT count(*) FROM h.items WHERE id < $1", parameters: [7], limit: 3 },
    { query: "INSERT INTO h.ExecuteSql SELECT * FROM h.items LIMIT 1" },
  ],
  CreateTableIndex: () => [
    { column: "vector", index_type: "IVF_FLAT", num_partitions: 2, replace: true },
    { column: "name", index_type: "FTS", with_position: true, replace: true },
  ],
  CreateTableScalarIndex: () => [{ column: "id", index_type: "BTREE", replace: true }],
  ListTableIndices: () => [{}, { limit: 1 }],
  AlterTableAddColumns: (draw) => [
    { new_columns: [{ name: `c${draw.below(50)}`, expression: "id * 2" }] },
    { new_columns: [{ name: `d${draw.below(50)}`, computed: "id + 1" }] },
  ],
  AlterTableAlterColumns: () => [
    { alterations: [{ path: "price", nullable: true }] },
    { alterations: [{ path: "name", rename: "title" }] },
  ],
  AlterTableBackfillColumns: () => [{ column: "ratio" }],
  ListRowErrors: () => [{ limit: 2 }, { column: "ratio" }],
  UpdateTableSchemaMetadata: () => [{ owner: "me" }],
  ListTableVersions: () => [{ limit: 2, descending: true }, {}],
  DescribeTableVersion: () => [{ version: 1 }, {}],
  BatchDeleteTableVersions: () => [{ ranges: [{ start_version: 0, end_version: 1 }] }],
  CreateTableVersion: (_, { manifest }) => [{ version: 2, manifest_path: manifest }],
  BatchCreateTableVersions: (_, { manifest }) => [
    { entries: [{ id: [SPACE, "CreateTableVersion"], version: 2, manifest_path: manifest }] },
  ],
  BatchCommitTables: (draw) => [
    { operations: [{ declare_table: { id: [SPACE, `batch${draw.below(100)}`] } }] },
    {
      operations: [
        {
          delete_table_versions: {
            id: [SPACE, "BatchDeleteTableVersions"],
            ranges: [{ start_version: 0, end_version: 1 }],
          },
        },
      ],
    },
  ],
  CreateTableTag: (draw) => [{ tag: `tag${draw.below(100)}`, version: 1 }],
  CreateTableBranch: (draw) => [{ name: `branch${draw.below(100)}` }],
  CreateMaterializedView: () => [{ query: "SELECT id FROM small", with_no_data: true }],
  RefreshMaterializedView: () => [{ concurrency: 1 }, { full: true }],
  AlterTransaction: () => [{ actions: [{ setPropertyAction: { key: "a", value: "b" } }] }],
  DescribeJob: jobs,
  CancelJob: jobs,
  PauseJob: jobs,
  ResumeJob: jobs,
  QueryJobEvents: jobs,
  ListJobs: () => [{}, { limit: 2 }],
  CloneTable: (_, { location }) => [{ source_location: location, is_shallow: true }],
  FetchTableBlobs: () => [{ column: "image", row_ids: [0, 1], version: null }],
  PrewarmTablePageCache: () => [{ columns: ["id"] }],
  DiffTableBranch: branches,
  CherryPickTableBranch: branches,
  ListGrants: () => [{ object: "server" }, { max_results: 1 }, {}],
  AddGrant: () => [{ subject: "g:hostile", object: `database:${SPACE}`, privilege: "SELECT" }],
  DeleteGrant: () => [{ subject: "g:hostile", object: `database:${SPACE}`, privilege: "SELECT" }],
  ListRoleBindings: () => [{}, { max_results: 1 }],
  AddRoleBinding: () => [{ subject: "g:hostile", role: "read" }],
  DeleteRoleBinding: () => [{ subject: "g:hostile", role: "read" }],
  DescribePrincipal: () => [{ principal: "p:user:issuer#subject" }],
  DescribeGroup: () => [{ group: "g:hostile" }],
};

/** A body that the operation accepts. */
export function validBody(draw: Draw, { operation }: Place, known: Known): Json {
  const { id, body } = operation;
  const own = bodies[id]?.(draw, known);
  if (own !== undefined) return draw.pick(own);
  if (minimalBodies[id] !== undefined) return minimalBodies[id];
  return "schema" in body ? minimal(body.schema) : {};
}

/** The members that a body may have, for mutations. */
export function membersOf({ operation: { body } }: Place): readonly string[] {
  const members = "schema" in body ? Object.keys(body.schema.properties ?? {}) : [];
  return [...members, "id", "identity", "context"];
}

/** Parameters that the operation accepts. */
export function validParams({ operation }: Place, known: Known): Record<string, string> {
  const { id } = operation;
  if (id === "MergeInsertIntoTable") {
    return { on: "id", when_matched_update_all: "true", when_not_matched_insert_all: "true" };
  }
  if (id === "CreateTable") return { mode: "overwrite" };
  const upload = known.uploads[id];
  return upload === undefined ? {} : { upload_id: upload };
}
