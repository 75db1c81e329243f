import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { branch, nothing } from "../../api/schemas.js";
import type { CompactionSpec } from "../../jobs/compaction.js";
import { specName } from "../../jobs/spec-name.js";
import { withoutNulls } from "../../jobs/without-nulls.js";
import { onTable } from "../../tables/open-table.js";
import { branchName, onBranch } from "../../tables/target.js";
import { optionalInteger } from "../jobs/job-request.js";

export const compactTable = operation({
  id: "CompactTable",
  methods: ["POST"],
  path: "/v1/table/{id}/compact",
  summary: "Merge small fragments and remove deleted rows, in the background",
  tag: "Table",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      branch,
      target_rows_per_fragment: optionalInteger(
        1,
        "target number of rows in a fragment; default: 1048576",
      ),
      materialize_deletions_threshold: Type.Optional(
        Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], {
          description: "share of deleted rows above which a fragment is rewritten; default: 0.1",
        }),
      ),
      concurrency: optionalInteger(
        1,
        "number of groups of fragments that the job rewrites at the same time",
      ),
    }),
  },
  reply: Type.Object({ job_id: Type.String() }),
  status: 202,
  access: accessTo("table", "update"),
  limited: ["job"],
  uses: ["catalog", "config", "engine", "jobs"],
  async handle(services, { id, payload }) {
    const options = withoutNulls<CompactionSpec>({
      branch: branchName(payload.branch),
      target_rows_per_fragment: payload.target_rows_per_fragment,
      materialize_deletions_threshold: payload.materialize_deletions_threshold,
      concurrency: payload.concurrency,
    });
    return onTable(services, id, async ({ record, table }) => {
      // Reports a missing branch to the client.
      await onBranch(table, options.branch).describe();
      const spec = JSON.stringify(options);
      const job = await services.jobs.enqueue({
        kind: "compaction",
        table: record.key,
        name: specName("compaction", spec),
        spec,
      });
      return { kind: "json", status: 202, value: { job_id: job.id } };
    });
  },
});
