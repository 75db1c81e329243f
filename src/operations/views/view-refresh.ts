import { type Static, Type } from "@sinclair/typebox";
import { nothing } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import { invalidInput } from "../../foundation/errors.js";
import { given } from "../../jobs/given.js";
import type { JobRecord } from "../../jobs/jobs.js";
import { specName } from "../../jobs/spec-name.js";
import type { RefreshSpec } from "../../jobs/view-refresh.js";
import { onTable } from "../../tables/open-table.js";
import { checkVersion } from "../../tables/target.js";
import { ignoredOption, optionalInteger } from "../jobs/job-request.js";

const request = Type.Object({
  src_version: optionalInteger(
    0,
    "version to read of the one table that the view reads; default: latest",
  ),
  source_version: optionalInteger(0, "as src_version; the LanceDB SDKs' name of it"),
  full: ignoredOption(Type.Boolean()),
  max_rows_per_fragment: optionalInteger(1, "rows of a fragment of the view, at most"),
  concurrency: optionalInteger(1, "parts of the query that run at the same time"),
  output_limit: Type.Optional(
    Type.Union([Type.Integer(), Type.Null()], { description: "not for views of kind query" }),
  ),
  intra_applier_concurrency: ignoredOption(Type.Integer()),
  source_task_size: ignoredOption(Type.Integer()),
  cluster: ignoredOption(Type.String()),
  manifest: ignoredOption(Type.String()),
});

export const shared = {
  methods: ["POST"],
  tag: "View",
  params: nothing,
  body: { kind: "json", schema: request },
  reply: Type.Object({ job_id: Type.String() }),
  status: 202,
  permission: "write",
} as const;

export function refresh(
  services: Pick<Services, "catalog" | "config" | "engine" | "jobs">,
  id: readonly string[],
  payload: Static<typeof request>,
) {
  if (payload.output_limit != null) {
    throw invalidInput("output_limit is for views of kind chunker: leave it out");
  }
  const version = payload.src_version ?? payload.source_version;
  if (payload.source_version != null && payload.source_version !== version) {
    throw invalidInput("src_version and source_version differ: give one of them");
  }
  return onTable(services, id, async ({ record, table }) => {
    const { tables } = await table.view();
    if (version != null) await checkSource(services, tables, checkVersion(version));
    const job = await enqueueRefresh(
      services,
      record.key,
      given<RefreshSpec>({
        src_version: version,
        max_rows_per_fragment: payload.max_rows_per_fragment,
        concurrency: payload.concurrency,
      }),
    );
    return { kind: "json", status: 202, value: { job_id: job.id } } as const;
  });
}

/** @throws code 13 when the view reads several tables, 11 when its one table has no such version */
async function checkSource(
  services: Pick<Services, "catalog" | "config" | "engine">,
  tables: readonly { table: string[] }[],
  version: number,
): Promise<void> {
  const [source, ...others] = tables;
  if (source === undefined || others.length > 0) {
    throw invalidInput(
      `src_version needs a view that reads one table; this one reads ${tables.length}`,
    );
  }
  await onTable(services, source.table, ({ table }) => table.describe({ version }));
}

export function enqueueRefresh(
  { jobs }: Pick<Services, "jobs">,
  table: string,
  wanted: RefreshSpec,
): Promise<JobRecord> {
  const spec = JSON.stringify(wanted);
  const name = specName("refresh", spec);
  return jobs.enqueue({ kind: "refresh", table, name, spec, afresh: true });
}
