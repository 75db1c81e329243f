/** Reads of the rows of jobs. */
import { type Selectable, sql } from "kysely";
import type { NamespacePath, Page, PageRequest } from "../catalog/catalog.js";
import type { FullyVisible } from "../catalog/grants/visible-objects.js";
import { isFullyVisibleTable, isTableIn } from "../catalog/grants/visible-rows.js";
import { decodePageToken, encodePageToken, invalidToken, pageSize } from "../catalog/page-token.js";
import { decodePath } from "../catalog/path.js";
import type { CatalogDatabase } from "../database/database.js";
import type { JobsRow } from "../database/schema.js";
import { available } from "../database/sql-error.js";
import type { JobCount, JobErrors, JobRecord, ListedJob } from "./jobs.js";
import { jobRecord } from "./record.js";

/** Jobs whose row errors one reply holds at most. */
const MAX_JOBS_WITH_ERRORS = 20;

/** The newest job of each name, oldest first. */
export async function newestJobs(db: CatalogDatabase, table: string): Promise<JobRecord[]> {
  const query = db.read
    .selectFrom("jobs")
    .innerJoin(
      (e) =>
        e
          .selectFrom("jobs")
          .select((e) => ["name", e.fn.max("created_at").as("last")] as const)
          .where("table_key", "=", table)
          .groupBy("name")
          .as("newest"),
      (join) =>
        join.onRef("jobs.name", "=", "newest.name").onRef("jobs.created_at", "=", "newest.last"),
    )
    .selectAll("jobs")
    .where("table_key", "=", table)
    .orderBy("created_at")
    .orderBy("id");
  // Several servers may have queued jobs of one name in the same millisecond.
  const newest = new Map<string, Selectable<JobsRow>>();
  for (const row of await available(query.execute())) {
    newest.delete(row.name);
    newest.set(row.name, row);
  }
  return [...newest.values()].map(jobRecord);
}

export async function findJob(db: CatalogDatabase, id: string): Promise<JobRecord | undefined> {
  const query = db.read.selectFrom("jobs").selectAll().where("id", "=", id);
  const row = await available(query.executeTakeFirst());
  return row && jobRecord(row);
}

/** The row errors of a table's jobs, or of one of them, newest job first. */
export async function jobErrors(
  db: CatalogDatabase,
  table: string,
  job?: string,
): Promise<JobErrors[]> {
  const query = db.read
    .selectFrom("jobs")
    .selectAll()
    .where("table_key", "=", table)
    .where("errors", "is not", null)
    .$if(job !== undefined, (jobs) => jobs.where("id", "=", job ?? ""))
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(MAX_JOBS_WITH_ERRORS);
  const rows = await available(query.execute());
  return rows.map((row) => ({ job: jobRecord(row), ...JSON.parse(row.errors ?? "{}") }));
}

/** All jobs, or those of visible tables, newest first, with the identifiers of their tables. */
export async function listJobs(
  db: CatalogDatabase,
  { limit, pageToken }: PageRequest,
  visible?: FullyVisible,
  within?: NamespacePath,
): Promise<Page<ListedJob>> {
  const listing = "jobs";
  const size = pageSize(limit);
  const after = decodePageToken(listing, 2, pageToken);
  const [time, id] = [Number(after?.[0] ?? 0), after?.[1] ?? ""];
  if (!Number.isSafeInteger(time)) throw invalidToken();
  const rows = await available(
    db.read
      .selectFrom("jobs")
      .leftJoin("tables", "tables.key", "jobs.table_key")
      .selectAll("jobs")
      .select(["tables.namespace as table_namespace", "tables.name as table_name"])
      .$if(visible !== undefined, (query) =>
        query.where(isFullyVisibleTable(db.kind, visible as FullyVisible)),
      )
      .$if(within !== undefined, (query) =>
        query.where(isTableIn(db.kind, within as NamespacePath)),
      )
      .$if(after !== undefined, (query) =>
        query.where(sql<boolean>`(jobs.created_at, jobs.id) < (${time}, ${id})`),
      )
      .orderBy("jobs.created_at", "desc")
      .orderBy("jobs.id", "desc")
      .limit(size + 1)
      .execute(),
  );
  const shown = rows.slice(0, size);
  const last = rows.length > size ? shown.at(-1) : undefined;
  return {
    items: shown.map((row) => ({
      job: jobRecord(row),
      table: [...decodePath(row.table_namespace ?? ""), row.table_name ?? ""],
    })),
    ...(last && { pageToken: encodePageToken(listing, [String(last.created_at), last.id]) }),
  };
}

export function countJobs(db: CatalogDatabase): Promise<JobCount[]> {
  const query = db.read
    .selectFrom("jobs")
    .select((e) => ["kind", "state", e.fn.countAll<number>().as("count")] as const)
    .groupBy(["kind", "state"])
    .orderBy("kind")
    .orderBy("state");
  return available(query.execute());
}
