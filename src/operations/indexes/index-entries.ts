import { compareNames } from "../../api/paging.js";
import type { IndexDescription } from "../../engine/index.js";
import type { JobRecord } from "../../jobs/jobs.js";
import type { IndexSpec } from "./index-request.js";

/** An entry of an index listing, as the contract has it. */
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

export const isActive = (job: JobRecord): boolean =>
  job.state === "QUEUED" || job.state === "RUNNING";

/** The index builds of one branch among a table's jobs. */
export const buildsOnBranch = (
  jobs: readonly JobRecord[],
  branch: string | undefined,
): JobRecord[] => jobs.filter((job) => job.kind === "index_build" && specOf(job).branch === branch);

/** What a build was asked for. */
export const specOf = (build: JobRecord): IndexSpec => JSON.parse(build.spec) as IndexSpec;

/**
 * The table's indexes and those that are to become some, by name. An index that is being replaced
 * shows the progress of its successor; a replacement that failed leaves the index as it was.
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
    // An index has a uuid of its own once it exists; until then the job's id stands for it.
    index_uuid: job.id,
    columns: [spec.column],
    index_type: spec.index_type,
    created_at: new Date(job.createdMillis).toISOString(),
    ...progressOf(job),
  };
}

/** State of a build and, as JSON text, how far it is or why it failed. */
function progressOf(job: JobRecord): Pick<IndexEntry, "status" | "index_details"> {
  const state = job.state as keyof typeof statusOf;
  const details = state === "FAILED" ? { error: job.error } : { progress: job.progress };
  return { status: statusOf[state], index_details: JSON.stringify(details) };
}
