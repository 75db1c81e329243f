import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { branch, count, nothing } from "../../api/schemas.js";
import { onTable } from "../../tables/open-table.js";
import { onBranch, readOptions } from "../../tables/target.js";
import { maintenanceSchema, maintenanceState } from "./maintenance-state.js";

export const getTableStats = operation({
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
  access: accessTo("table", "select"),
  uses: ["catalog", "config", "engine", "jobs"],
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
