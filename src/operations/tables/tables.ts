import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { branch, count, delimiter, nothing, transactionId } from "../../api/schemas.js";
import { defaultDelimiter } from "../../api/validation/identifier.js";
import { checkName } from "../../catalog/names.js";
import { onTable } from "../../tables/open-table.js";
import { dropTable as removeTable } from "../../tables/table-removal.js";
import { onBranch, readOptions } from "../../tables/target.js";
import { createTable } from "./create-table.js";
import { describeTable, tableExists } from "./describe-table.js";
import { droppedTable } from "./dropped-table.js";
import { listAllTables, listTables } from "./list-tables.js";
import { maintenanceSchema, maintenanceState } from "./maintenance-state.js";

const dropTable = operation({
  id: "DropTable",
  methods: ["POST"],
  path: "/v1/table/{id}/drop",
  summary: "Drop a table and remove its files",
  tag: "Table",
  params: nothing,
  body: { kind: "json", schema: nothing },
  reply: droppedTable,
  permission: "write",
  handle: (services, { id }) => removeTable(services, id),
});

const renameTable = operation({
  id: "RenameTable",
  methods: ["POST"],
  path: "/v1/table/{id}/rename",
  summary: "Rename a table or move it to another namespace; its files stay where they are",
  tag: "Table",
  params: Type.Object({ delimiter }),
  body: {
    kind: "json",
    schema: Type.Object({
      id: Type.Optional(Type.Union([Type.Array(Type.String()), Type.Null()])),
      new_table_name: Type.String({ minLength: 1 }),
      new_namespace_id: Type.Optional(
        Type.Array(Type.String(), {
          description: "namespace to move to, [] is the root; default: the table's own",
        }),
      ),
    }),
  },
  reply: Type.Object({ transaction_id: transactionId }),
  permission: "write",
  async handle({ catalog }, { id, params, payload }) {
    const namespace = targetOf(payload) ?? id.slice(0, -1);
    const separator = params.delimiter ?? defaultDelimiter;
    for (const [depth, name] of namespace.entries()) {
      checkName("namespace", name, { delimiter: separator, root: depth === 0 });
    }
    checkName("table", payload.new_table_name, {
      delimiter: separator,
      root: namespace.length === 0,
    });
    await catalog.renameTable(id, [...namespace, payload.new_table_name]);
    return { kind: "json", value: {} };
  },
});

/**
 * The namespace to move to. The Java client sends every list that was not set as an empty one, the
 * `id` among them: in such a body an empty namespace is not the root.
 */
function targetOf(payload: { id?: string[] | null; new_namespace_id?: string[] }) {
  const unset = payload.id?.length === 0 && payload.new_namespace_id?.length === 0;
  return unset ? undefined : payload.new_namespace_id;
}

const getTableStats = operation({
  id: "GetTableStats",
  methods: ["POST"],
  path: "/v1/table/{id}/stats",
  summary: "Count a table's bytes, rows, indexes and fragments",
  tag: "Table",
  params: nothing,
  body: { kind: "json", schema: Type.Object({ branch }) },
  reply: Type.Object({
    total_bytes: count,
    num_rows: count,
    num_deleted_rows: count,
    num_indices: count,
    fragment_stats: Type.Object({
      num_fragments: count,
      num_small_fragments: count,
      lengths: Type.Object({
        min: count,
        max: count,
        mean: count,
        p25: count,
        p50: count,
        p75: count,
        p99: count,
      }),
    }),
    maintenance: maintenanceSchema,
  }),
  permission: "read",
  async handle(services, { id, payload, fresh }) {
    const { stats, maintenance } = await onTable(services, id, async ({ record, table }) => ({
      stats: await onBranch(table, payload.branch).stats(readOptions({}, fresh)),
      maintenance: await maintenanceState(services, record, table),
    }));
    return {
      kind: "json",
      value: {
        total_bytes: stats.totalBytes,
        num_rows: stats.numRows,
        num_deleted_rows: stats.numDeletedRows,
        num_indices: stats.numIndices,
        fragment_stats: {
          num_fragments: stats.numFragments,
          num_small_fragments: stats.numSmallFragments,
          lengths: stats.lengths,
        },
        maintenance,
      },
    };
  },
});

export const tables = [
  createTable,
  describeTable,
  tableExists,
  listTables,
  listAllTables,
  dropTable,
  renameTable,
  getTableStats,
];
