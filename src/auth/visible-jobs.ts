import type { Services } from "../api/services.js";
import type { Catalog, TableId } from "../catalog/catalog.js";
import type { CallerPrivileges } from "../catalog/grants/caller-privileges.js";
import { SERVER, tableObject } from "../catalog/grants/grants.js";
import { NO_PRIVILEGES, readsSomeRows } from "../catalog/grants/privileges.js";
import { encodePath } from "../catalog/path.js";
import { jobNotFound } from "../jobs/failures.js";
import type { JobRecord, Jobs } from "../jobs/jobs.js";
import { onTable } from "../tables/open-table.js";

const HIDDEN =
  "the refresh of the view failed: a caller that may read all sources of the view sees the reason";

/**
 * The jobs that a caller without a role sees. The refresh of a view hides what names its sources or may contain their
 * values, unless the caller may read them all.
 *
 * `readable`: the tables that the caller may read.
 */
export function visibleJobs(
  services: Pick<Services, "catalog" | "config" | "engine" | "jobs">,
  privileges: CallerPrivileges,
  readable: Pick<Catalog, "table">,
): Pick<Jobs, "describe" | "listAll"> {
  const { catalog, jobs } = services;
  /** By path: a page may list many refreshes of one view. */
  const readsSources = new Map<string, Promise<boolean>>();

  async function checkSources(view: TableId): Promise<boolean> {
    try {
      const { tables } = await onTable(services, view, ({ table }) => table.view());
      await Promise.all(tables.map(({ table }) => readable.table(table)));
      return true;
    } catch {
      return false;
    }
  }

  function mayReadSources(view: TableId): Promise<boolean> {
    const path = encodePath(view);
    const answer = readsSources.get(path) ?? checkSources(view);
    readsSources.set(path, answer);
    return answer;
  }

  async function shown(job: JobRecord, view: TableId | undefined): Promise<JobRecord> {
    if (job.kind !== "refresh" || !(job.error || job.result)) return job;
    if (view && (await mayReadSources(view))) return job;
    const { sources: _, ...result } = (job.result ?? {}) as Record<string, unknown>;
    return {
      ...job,
      ...(job.error && { error: { ...job.error, message: HIDDEN } }),
      ...(job.result && { result }),
    };
  }

  return {
    async describe(id) {
      const job = await jobs.describe(id);
      const table = await catalog.tableByKey(job.table);
      const held = await privileges.on(table ? tableObject(table.id) : SERVER, catalog);
      if (held === NO_PRIVILEGES || (!table && readsSomeRows(held))) throw jobNotFound(id);
      return shown(job, table?.id);
    },
    async listAll(page) {
      const listed = await jobs.listAll(page, privileges.visibleWithAllRows());
      const items = listed.items.map(async ({ job, table }) => ({
        job: await shown(job, table),
        table,
      }));
      return { ...listed, items: await Promise.all(items) };
    },
  };
}
