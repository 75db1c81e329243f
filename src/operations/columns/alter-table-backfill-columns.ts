import { type Static, Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { branch, nothing } from "../../api/schemas.js";
import { type BackfillSpec, backfillOptions } from "../../jobs/backfill.js";
import { given } from "../../jobs/given.js";
import { specName } from "../../jobs/spec-name.js";
import { onTable } from "../../tables/open-table.js";
import { branchName, checkVersion, onBranch } from "../../tables/target.js";
import { tuning, whole } from "../jobs/job-request.js";

const request = Type.Object({
  branch,
  column: Type.String({ minLength: 1, description: "path of a computed column" }),
  where: Type.Optional(
    Type.Union([Type.String(), Type.Null()], {
      description: "SQL; rows for which it is not true keep what they have",
    }),
  ),
  read_version: whole(0, "version whose rows are computed from; default: the latest"),
  concurrency: whole(1, "fragments that are computed at the same time"),
  num_frags: whole(1, "only the table's first so many fragments"),
  cluster: tuning(Type.String()),
  manifest: tuning(Type.String()),
  intra_applier_concurrency: tuning(Type.Integer()),
  min_checkpoint_size: tuning(Type.Integer()),
  max_checkpoint_size: tuning(Type.Integer()),
  checkpoint_size: tuning(Type.Integer()),
  task_size: tuning(Type.Integer()),
  commit_granularity: tuning(Type.Integer()),
  batch_checkpoint_flush_interval_seconds: tuning(Type.Number()),
});

export const alterTableBackfillColumns = operation({
  id: "AlterTableBackfillColumns",
  methods: ["POST"],
  path: "/v1/table/{id}/backfill_column",
  summary: "Fill a computed column in the background, in one version; jobs tell how far it is",
  tag: "Column",
  params: nothing,
  body: { kind: "json", schema: request },
  reply: Type.Object({ job_id: Type.String() }),
  status: 202,
  permission: "write",
  uses: ["catalog", "config", "engine", "jobs"],
  async handle(services, { id, payload }) {
    const wanted = wish(payload);
    return onTable(services, id, async ({ record, table }) => {
      const column = await onBranch(table, wanted.branch).planBackfill(backfillOptions(wanted));
      const spec = JSON.stringify({ ...wanted, column });
      const job = await services.jobs.enqueue({
        kind: "backfill",
        table: record.key,
        name: specName("backfill", spec),
        spec,
        afresh: true,
      });
      return { kind: "json", status: 202, value: { job_id: job.id } };
    });
  },
});

/** The members that say what to do: what tunes another executor is taken and means nothing here. */
const wish = (payload: Static<typeof request>): BackfillSpec =>
  given<BackfillSpec>({
    column: payload.column,
    branch: branchName(payload.branch),
    where: payload.where,
    read_version: payload.read_version == null ? undefined : checkVersion(payload.read_version),
    concurrency: payload.concurrency,
    num_frags: payload.num_frags,
  });
