import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { count, nothing } from "../../api/schemas.js";
import type { JobErrors } from "../../jobs/jobs.js";
import { onTable } from "../../tables/open-table.js";

const DEFAULT_LIMIT = 100;

const text = (description: string) =>
  Type.Optional(Type.Union([Type.String({ minLength: 1, description }), Type.Null()]));

/** The rows that a backfill or the function of a view could not compute, as LanceDB SDKs request them. */
export const listRowErrors = operation({
  id: "ListRowErrors",
  methods: ["POST"],
  path: "/v1/table/{id}/errors",
  summary:
    "List the rows that backfills could not compute, or of its source that a view's function could not, newest job first",
  tag: "Job",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      job_id: text("only errors of this job"),
      column: text("only errors of this column"),
      limit: Type.Optional(
        Type.Union([Type.Integer({ minimum: 1, maximum: 1000 }), Type.Null()], {
          description: "maximum number of records in the reply; default: 100",
        }),
      ),
    }),
  },
  reply: Type.Object({
    records: Type.Array(
      Type.Object({
        job_id: Type.String(),
        fragment_id: count,
        row_offset: count,
        column: Type.String({ description: "* for a view" }),
        function: Type.String(),
        function_version: Type.String(),
        table_version: count,
        error_type: Type.String(),
        error_message: Type.String(),
        created_at_millis: count,
      }),
    ),
    fragments: Type.Array(
      Type.Object({
        job_id: Type.String(),
        fragment_id: count,
        rows_skipped: count,
        rows_recorded: count,
      }),
    ),
    truncated: Type.Boolean(),
  }),
  access: accessTo("table", "select"),
  uses: ["catalog", "config", "engine", "jobs"],
  async handle(services, { id, payload }) {
    const { job_id, column } = payload;
    return onTable(services, id, async ({ record }) => {
      if (job_id != null) await services.jobs.describe(job_id);
      const all = await services.jobs.errors(record.key, job_id ?? undefined);
      const selected = all.filter((errors) => column == null || errors.column === column);
      return { kind: "json", value: errorListing(selected, payload.limit ?? DEFAULT_LIMIT) };
    });
  },
});

function errorListing(failed: readonly JobErrors[], limit: number): object {
  const rows = failed.flatMap((errors) => errors.rows.map((row) => ({ errors, row })));
  const records = rows.slice(0, limit).map(({ errors, row }) => ({
    job_id: errors.job.id,
    fragment_id: row.fragment,
    row_offset: row.offset,
    column: errors.column,
    function: errors.function?.name ?? "sql",
    function_version: errors.function?.version ?? "",
    table_version: errors.version,
    // A message of Python starts with the class of its exception.
    error_type: (errors.function && /^(\w+)(?:: |$)/.exec(row.message)?.[1]) ?? "InvalidInput",
    error_message: row.message,
    created_at_millis: errors.job.updatedMillis,
  }));
  const fragments = failed.flatMap((errors) =>
    errors.fragments.map(({ fragment, rows }) => ({
      job_id: errors.job.id,
      fragment_id: fragment,
      rows_skipped: rows,
      rows_recorded: errors.rows.filter((row) => row.fragment === fragment).length,
    })),
  );
  const skipped = fragments.reduce((sum, { rows_skipped }) => sum + rows_skipped, 0);
  return { records, fragments, truncated: skipped > records.length };
}
