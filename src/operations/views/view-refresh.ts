import { type Static, Type } from "@sinclair/typebox";
import type { Requirement } from "../../api/access.js";
import type { Call } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import { invalidInput } from "../../foundation/errors.js";
import type { JobRecord } from "../../jobs/jobs.js";
import { specName } from "../../jobs/spec-name.js";
import type { RefreshSpec } from "../../jobs/view-refresh.js";
import { withoutNulls } from "../../jobs/without-nulls.js";
import { onTable } from "../../tables/open-table.js";
import { checkVersion } from "../../tables/target.js";
import { ignoredOption, optionalInteger } from "../jobs/job-request.js";
import { checkSources } from "./visible-sources.js";

const request = Type.Object({
  src_version: optionalInteger(
    0,
    "version of the source table; only for views of one table; default: the latest",
  ),
  source_version: optionalInteger(0, "same as src_version, in LanceDB SDKs"),
  full: Type.Optional(
    Type.Union([Type.Boolean(), Type.Null()], {
      description: "compute all rows, also if it is known which have changed; default: false",
    }),
  ),
  max_rows_per_fragment: optionalInteger(
    1,
    "maximum number of rows in a fragment that the refresh writes",
  ),
  concurrency: optionalInteger(
    1,
    "number of parts of the query that run at the same time; for a chunker, of processes of its function",
  ),
  output_limit: optionalInteger(
    1,
    "maximum number of rows of the view, only for a chunker; the refresh after it computes all rows",
  ),
  source_task_size: optionalInteger(
    1,
    "maximum number of rows of a call of the function of a chunker; no effect on other views",
  ),
  intra_applier_concurrency: ignoredOption(Type.Integer()),
  cluster: ignoredOption(Type.String()),
  manifest: ignoredOption(Type.String()),
});

type TableServices = Pick<Services, "catalog" | "config" | "engine">;

/** Members that both refresh operations have. */
export const refreshOperation = {
  methods: ["POST"],
  tag: "View",
  params: nothing,
  body: { kind: "json", schema: request },
  reply: Type.Object({ job_id: Type.String() }),
  status: 202,
  access: {
    on: "table",
    privileges: ["update"],
    sometimes: ["select"],
    // The view may be a clone, or its caller may have lost the grants that it had at the creation.
    also: async (
      { id }: Call<unknown, unknown>,
      services: TableServices,
    ): Promise<Requirement[]> => {
      await checkSources(services, id);
      return [];
    },
  },
  limited: ["job", "storage"],
} as const;

export function startRefresh(
  services: Pick<Services, "catalog" | "config" | "engine" | "jobs" | "maintenance">,
  id: readonly string[],
  payload: Static<typeof request>,
) {
  const version = payload.src_version ?? payload.source_version;
  if (payload.source_version != null && payload.source_version !== version) {
    throw invalidInput("src_version and source_version differ: send one of them");
  }
  return onTable(services, id, async ({ record, table }) => {
    const { tables, autoRefresh, function: expands } = await table.view();
    if (payload.output_limit != null && !expands) {
      throw invalidInput("output_limit is only for views of kind chunker: leave it out");
    }
    if (version != null) await checkSourceVersion(services, tables, checkVersion(version));
    const job = await enqueueRefresh(
      services,
      record.key,
      withoutNulls<RefreshSpec>({
        src_version: version,
        full: payload.full || undefined,
        max_rows_per_fragment: payload.max_rows_per_fragment,
        concurrency: payload.concurrency,
        output_limit: payload.output_limit,
        source_task_size: expands && payload.source_task_size,
      }),
    );
    if (autoRefresh) {
      const keys = await Promise.all(tables.map((source) => keyOf(services, source.table)));
      await services.maintenance.viewDeclared(record.key, keys, job.id);
    }
    return { kind: "json", status: 202, value: { job_id: job.id } } as const;
  });
}

const keyOf = (services: TableServices, id: readonly string[]): Promise<string> =>
  onTable(services, id, async ({ record }) => record.key);

/** @throws code 13 if the view reads several tables, 11 if its one table has no such version */
async function checkSourceVersion(
  services: TableServices,
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
  options: RefreshSpec,
): Promise<JobRecord> {
  const spec = JSON.stringify(options);
  const name = specName("refresh", spec);
  return jobs.enqueue({ kind: "refresh", table, name, spec, freshRun: true });
}
