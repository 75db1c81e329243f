import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { branch, nothing } from "../../api/schemas.js";
import type { CompactionSpec } from "../../jobs/compaction.js";
import { given } from "../../jobs/given.js";
import { specName } from "../../jobs/spec-name.js";
import { onTable } from "../../tables/open-table.js";
import { branchName, onBranch } from "../../tables/target.js";
import { optionalInteger } from "../jobs/job-request.js";

export const compactTable = operation({
  id: "CompactTable",
  methods: ["POST"],
  path: "/v1/table/{id}/compact",
  summary: "Put small fragments together and take deleted rows out, in the background",
  tag: "Table",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      branch,
      target_rows_per_fragment: optionalInteger(
        1,
        "rows that a fragment is to have; default: 1048576",
      ),
      materialize_deletions_threshold: Type.Optional(
        Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], {
          description:
            "part of a fragment's rows that must be deleted for it to be rewritten; default: 0.1",
        }),
      ),
      concurrency: optionalInteger(1, "groups of fragments that are rewritten at the same time"),
    }),
  },
  reply: Type.Object({ job_id: Type.String() }),
  status: 202,
  permission: "write",
  uses: ["catalog", "config", "engine", "jobs"],
  async handle(services, { id, payload }) {
    const wanted = given<CompactionSpec>({
      branch: branchName(payload.branch),
      target_rows_per_fragment: payload.target_rows_per_fragment,
      materialize_deletions_threshold: payload.materialize_deletions_threshold,
      concurrency: payload.concurrency,
    });
    return onTable(services, id, async ({ record, table }) => {
      // A branch that does not exist is told now.
      await onBranch(table, wanted.branch).describe();
      const spec = JSON.stringify(wanted);
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
