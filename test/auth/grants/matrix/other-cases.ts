/** The requests of all other operations. */
import { unserved } from "../../../../src/operations/server/unserved.js";
import { type Case, type Cases, inSpace, json, type Names, onTable } from "./case.js";

const expanded = {
  kind: "chunker",
  udtf_spec: {
    python: { source: "def f(id): return []", entry: "f" },
    input_columns: ["id"],
    outputs: [{ column: "word", data_type: "utf8" }],
  },
};
const index = { column: "id", index_type: "BTREE" };
const onIndex: Pick<Case, "path"> = { path: { index_name: "id_idx" } };
const onView: Pick<Case, "id"> = { id: ({ space, view }) => [space, view] };
/** What the definition of the view reads. */
const source = ({ space }: Names) => [[`table:${space}$orders`, "select"]] as const;
const ofJob = ({ job }: Names) => ({ job_id: job });
const ofWorker = (names: Names) => ({ ...ofJob(names), token: "none" });
const noWorkers: Pick<Case, "admitted"> = { admitted: [406, /--executor ray/] };
const objectOf = ({ space, table }: Names) => `table:${space}:public$${table}`;
const onServer = () => [["server", "grant"]] as const;

export const otherCases: Cases = {
  CreateTableIndex: [json(() => index, { fresh: "table" })],
  CreateTableScalarIndex: [json(() => index, { fresh: "table" })],
  ListTableIndices: [{}],
  DescribeTableIndexStats: [onIndex],
  DropTableIndex: [{ ...onIndex, fresh: "indexed table" }],
  PrewarmTable: [{}],
  PrewarmTableIndex: [onIndex],
  PrewarmTablePageCache: [json(() => ({ columns: ["id"] }))],

  ListTableTags: [{}],
  GetTableTagVersion: [json(() => ({ tag: "first" }))],
  CreateTableTag: [json(({ n }) => ({ tag: `new${n}`, version: 1 }))],
  UpdateTableTag: [json(() => ({ tag: "first", version: 1 }))],
  DeleteTableTag: [json(({ fresh }) => ({ tag: fresh }), { fresh: "tag" })],
  ListTableBranches: [{}],
  CreateTableBranch: [json(({ n }) => ({ name: `new${n}` }))],
  DeleteTableBranch: [json(({ fresh }) => ({ name: fresh }), { fresh: "branch" })],
  DiffTableBranch: [json(() => ({ from_branch: "dev" }))],
  CherryPickTableBranch: [json(() => ({ from_branch: "dev" }))],

  CreateMaterializedView: [
    json(({ space, table }) => ({ query: `SELECT id FROM "${space}$${table}"` }), {
      also: source,
      admitted: 202,
    }),
    json(
      ({ space, table }) => ({ ...expanded, source_query: `SELECT id FROM "${space}$${table}"` }),
      {
        title: "with a function",
        also: (names) => [[inSpace(names), "manage"], ...source(names)],
        admitted: 201,
      },
    ),
  ],
  RefreshMaterializedView: [{ ...onView, also: source }],
  RefreshTable: [{ ...onView, also: source }],
  DescribeMaterializedView: [{ ...onView, also: source }],
  DropMaterializedView: [{ ...onView, fresh: "view" }],

  DescribeTransaction: [{}],
  AlterTransaction: [
    json(() => ({ actions: [{ setPropertyAction: { key: "note", value: "x" } }] })),
  ],
  ListJobs: [{}],
  DescribeJob: [json(ofJob)],
  QueryJobEvents: [json(ofJob)],
  CancelJob: [json(ofJob)],
  PauseJob: [json(ofJob)],
  ResumeJob: [json(ofJob)],
  ClaimRemoteJob: [
    json((names) => ({ ...ofWorker(names), versions: {}, replacement: "none" }), noWorkers),
  ],
  GetRemoteOrder: [json((names) => ({ ...ofWorker(names), known: "" }), noWorkers)],
  ReportRemoteWork: [json((names) => ({ ...ofWorker(names), failure: "x" }), noWorkers)],

  ListGrants: [
    json((names) => ({ object: objectOf(names) }), {
      also: (names) => [[onTable(names), "grant"]],
    }),
    { title: "of all objects", also: onServer },
  ],
  AddGrant: [
    json(
      (names) => ({ subject: `g:new${names.n}`, object: objectOf(names), privilege: "SELECT" }),
      { also: (names) => [[onTable(names), "grant", "select"]] },
    ),
    json(({ n }) => ({ subject: `g:new${n}`, object: "system", privilege: "SELECT" }), {
      title: "on the server",
      also: () => [["server", "grant", "select"]],
    }),
  ],
  DeleteGrant: [
    json(
      (names) => ({ subject: `g:${names.fresh}`, object: objectOf(names), privilege: "SELECT" }),
      { fresh: "grant", also: (names) => [[onTable(names), "grant"]] },
    ),
  ],
  ListRoleBindings: [{ also: onServer }],
  AddRoleBinding: [
    json(({ n }) => ({ subject: `g:new${n}`, role: "read" }), {
      also: () => [["server", "grant", "select"]],
    }),
  ],
  DeleteRoleBinding: [
    json(({ n }) => ({ subject: `g:new${n}`, role: "read" }), { also: onServer }),
  ],
  DescribePrincipal: [json(() => ({ principal: "p:user:issuer#subject" }), { also: onServer })],
  DescribeGroup: [json(() => ({ group: "g:some" }), { also: onServer })],

  GetMetrics: [{}],
  GetOpenApiDocument: [{}],
  ...Object.fromEntries(
    unserved.map(({ id }): [string, Case[]] => [
      id,
      [id.startsWith("Unserved") ? { admitted: [406, /this server/] } : {}],
    ]),
  ),
};
