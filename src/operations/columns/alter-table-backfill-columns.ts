import { type Static, Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { branch, nothing } from "../../api/schemas.js";
import { type BackfillSpec, backfillOptions } from "../../jobs/backfill.js";
import { specName } from "../../jobs/spec-name.js";
import { withoutNulls } from "../../jobs/without-nulls.js";
import { onTable } from "../../tables/open-table.js";
import { branchName, checkVersion, onBranch } from "../../tables/target.js";
import { ignoredOption, optionalInteger } from "../jobs/job-request.js";

const request = Type.Object({
  branch,
  column: Type.String({ minLength: 1, description: "path of a computed column" }),
  where: Type.Optional(
    Type.Union([Type.String(), Type.Null()], {
      description: "SQL; rows for which it is not true keep their values",
    }),
  ),
  read_version: optionalInteger(0, "version to read the input columns from; default: the latest"),
  concurrency: optionalInteger(1, "number of fragments that the job computes at the same time"),
  num_frags: optionalInteger(1, "number of fragments to compute, from the first; default: all"),
  cluster: ignoredOption(Type.String()),
  manifest: ignoredOption(Type.String()),
  intra_applier_concurrency: ignoredOption(Type.Integer()),
  checkpoint_size: optionalInteger(
    1,
    "maximum number of rows of one call of a Python function; default and largest: 4096",
  ),
  min_checkpoint_size: optionalInteger(
    1,
    "minimum number of rows of one call: the server chooses a number between both; default: 1",
  ),
  max_checkpoint_size: optionalInteger(
    1,
    "same as checkpoint_size; with both, the smaller one counts",
  ),
  task_size: ignoredOption(Type.Integer()),
  commit_granularity: ignoredOption(Type.Integer()),
  batch_checkpoint_flush_interval_seconds: ignoredOption(Type.Number()),
});

export const alterTableBackfillColumns = operation({
  id: "AlterTableBackfillColumns",
  methods: ["POST"],
  path: "/v1/table/{id}/backfill_column",
  summary: "Fill a computed column in the background, in one version; the job reports the progress",
  tag: "Column",
  params: nothing,
  body: { kind: "json", schema: request },
  reply: Type.Object({ job_id: Type.String() }),
  status: 202,
  access: accessTo("table", "update"),
  limited: ["job", "storage"],
  uses: ["catalog", "config", "engine", "jobs"],
  async handle(services, { id, payload }) {
    const options = readSpec(payload);
    return onTable(services, id, async ({ record, table }) => {
      const column = await onBranch(table, options.branch).planBackfill(backfillOptions(options));
      const spec = JSON.stringify({ ...options, column });
      const job = await services.jobs.enqueue({
        kind: "backfill",
        table: record.key,
        name: specName("backfill", spec),
        spec,
        freshRun: true,
      });
      return { kind: "json", status: 202, value: { job_id: job.id } };
    });
  },
});

/** The members that the job reads. Options of other executors are not among them. */
const readSpec = (payload: Static<typeof request>): BackfillSpec =>
  withoutNulls<BackfillSpec>({
    column: payload.column,
    branch: branchName(payload.branch),
    where: payload.where,
    read_version: payload.read_version == null ? undefined : checkVersion(payload.read_version),
    concurrency: payload.concurrency,
    num_frags: payload.num_frags,
    min_batch_rows: payload.min_checkpoint_size,
    max_batch_rows: smaller(payload.checkpoint_size, payload.max_checkpoint_size),
  });

const smaller = (
  one: number | null | undefined,
  other: number | null | undefined,
): number | undefined =>
  one == null || other == null ? (one ?? other ?? undefined) : Math.min(one, other);
