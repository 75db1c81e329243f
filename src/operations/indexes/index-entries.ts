import { compareNames } from "../../api/paging.js";
import type { IndexDescription } from "../../engine/index.js";
import type { JobRecord } from "../../jobs/jobs.js";
import { isActive } from "../../jobs/record.js";
import type { IndexSpec } from "./index-request.js";

/** An entry of an index listing. */
export interface IndexEntry {
  index_name: string;
  index_uuid: string;
  columns: string[];
  status: "Ready" | "Queued" | "Building" | "Failed";
  index_type: string;
  type_url?: string | undefined;
  num_indexed_rows?: number;
  num_unindexed_rows?: number;
  size_bytes?: number | undefined;
  num_segments?: number;
  created_at?: string | undefined;
  index_version?: number;
  /** JSON text. */
  index_details?: string | undefined;
}

const statusOf = {
  QUEUED: "Queued",
  RUNNING: "Building",
  FAILED: "Failed",
} as const;

/** Filters a table's jobs: the index builds on one branch. */
export const buildsOnBranch = (
  jobs: readonly JobRecord[],
  branch: string | undefined,
): JobRecord[] => jobs.filter((job) => job.kind === "index_build" && specOf(job).branch === branch);

/** The parsed spec of an index build. */
export const specOf = (build: JobRecord): IndexSpec => JSON.parse(build.spec) as IndexSpec;

/**
 * The entries of a table's indexes and index builds, by name. If a build replaces an index, the entry reports the
 * progress of the build. A failed replacement does not change the entry of the index.
 */
export function indexEntries(
  indexes: readonly IndexDescription[],
  builds: readonly JobRecord[],
): IndexEntry[] {
  const entries = new Map<string, IndexEntry>();
  for (const index of indexes) entries.set(index.name, readyEntry(index));
  for (const build of builds) {
    if (build.state === "DONE" || build.state === "CANCELLED") continue;
    const { name } = specOf(build);
    const ready = entries.get(name);
    if (ready === undefined) entries.set(name, buildEntry(build));
    else if (isActive(build)) entries.set(name, { ...ready, ...progressOf(build) });
  }
  return [...entries.values()].sort((a, b) => compareNames(a.index_name, b.index_name));
}

function readyEntry(index: IndexDescription): IndexEntry {
  return {
    index_name: index.name,
    index_uuid: index.uuid,
    columns: index.columns,
    status: "Ready",
    index_type: index.indexType,
    type_url: index.typeUrl,
    num_indexed_rows: index.numIndexedRows,
    num_unindexed_rows: index.numUnindexedRows,
    size_bytes: index.sizeBytes,
    num_segments: index.numSegments,
    created_at:
      index.createdAtMillis === undefined
        ? undefined
        : new Date(index.createdAtMillis).toISOString(),
    index_version: index.indexVersion,
    index_details: index.details,
  };
}

function buildEntry(job: JobRecord): IndexEntry {
  const spec = specOf(job);
  return {
    index_name: spec.name,
    // The index has no uuid before the build ends.
    index_uuid: job.id,
    columns: [spec.column],
    index_type: spec.index_type,
    created_at: new Date(job.createdMillis).toISOString(),
    ...progressOf(job),
  };
}

/** The status of a build; its progress or its error as JSON text. */
function progressOf(job: JobRecord): Pick<IndexEntry, "status" | "index_details"> {
  const state = job.state as keyof typeof statusOf;
  const details = state === "FAILED" ? { error: job.error } : { progress: job.progress };
  return { status: statusOf[state], index_details: JSON.stringify(details) };
}
