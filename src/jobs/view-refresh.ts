import type { Catalog } from "../catalog/catalog.js";
import type { Engine, RefreshOptions, ViewSource } from "../engine/index.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import type { Executor } from "./executor.js";
import type { JobKind, JobOutcome } from "./jobs.js";
import { onWorkers } from "./on-workers.js";
import { withTask } from "./task.js";
import { withoutNulls } from "./without-nulls.js";

/** Requests for the same work have equal specs. */
export interface RefreshSpec {
  /** Version of the source, for views of one table. */
  src_version?: number;
  /** Computes all rows, also if it is known which have changed. */
  full?: boolean;
  max_rows_per_fragment?: number;
  concurrency?: number;
  /** Maximum number of rows of the view, if a function makes them. */
  output_limit?: number;
  /** Maximum number of rows of a call of the view's function. */
  source_task_size?: number;
  /** The keys of the tables that the query may read, in its order. Absent: the tables that have the names by now. */
  source_keys?: readonly string[];
}

/** The column of row errors: a row that fails has no row in the view. */
const ALL_COLUMNS = "*";

export interface ViewRefreshDependencies {
  engine: Engine;
  catalog: Pick<Catalog, "table">;
  storageOptions: Record<string, string>;
  /** Runs workers that compute rows. Without it the engine does. */
  executor?: Executor | undefined;
}

/** A view that refreshes itself must not read a table that another caller has put in the place of its source. */
export const otherTable = (id: readonly string[]): JoustError =>
  new JoustError(
    ErrorCode.InvalidTableState,
    `${JSON.stringify(id.join("$"))} is another table than the one that the view was made for: refresh the view with a request`,
  );

/** Computes the rows of a view that have changed, or all, and replaces them in one version. */
export const viewRefresh = ({
  engine,
  catalog,
  storageOptions,
  executor,
}: ViewRefreshDependencies): JobKind => ({
  kind: "refresh",
  async run({ job, table, spec, signal, onProgress }): Promise<JobOutcome> {
    const request = JSON.parse(spec) as RefreshSpec;
    const options = { ...storageOptions, ...table.storageOptions };
    const view = engine.table(table.location, options);
    const { tables } = await view.view();
    const sources: ViewSource[] = [];
    for (const [n, named] of tables.entries()) {
      // By name, as in the query: another table may have the name by now.
      const source = await catalog.table(named.table);
      if (request.source_keys && request.source_keys[n] !== source.key) {
        throw otherTable(named.table);
      }
      sources.push({
        ...named,
        location: source.location,
        storageOptions: { ...storageOptions, ...source.storageOptions },
        ...(request.src_version !== undefined && { version: request.src_version }),
      });
    }
    const refresh = withoutNulls<RefreshOptions>({
      sources,
      full: request.full,
      maxRowsPerFragment: request.max_rows_per_fragment,
      concurrency: request.concurrency,
      outputLimit: request.output_limit,
      callRows: request.source_task_size,
      job: job.id,
    });
    const remote = {
      id: job.id,
      createdMillis: job.createdMillis,
      location: table.location,
      storageOptions: options,
      sources,
    };
    const done = await onWorkers(executor, remote, signal, (work) =>
      withTask(signal, (task) => view.refreshView(refresh, task, onProgress, work)),
    );
    const failed = done.failedFragments.reduce((sum, { rows }) => sum + rows, 0);
    return {
      result: {
        ...(done.fullBecause === undefined
          ? { mode: "incremental" }
          : { mode: "rebuild", reason: done.fullBecause }),
        rows_written: done.rowsWritten,
        rows_removed: done.rowsRemoved,
        version: done.version,
        rows_assigned: done.rowsWritten,
        rows_failed: failed,
        rows_remaining: 0,
        source_version: done.sourceVersions[0] ?? 0,
        published_version: done.version,
        sources: tables.map((named, at) => ({
          table: named.table,
          version: done.sourceVersions[at],
        })),
      },
      ...(failed > 0 && {
        errors: {
          column: ALL_COLUMNS,
          ...(done.function && { function: done.function }),
          version: done.sourceVersions[0] ?? 0,
          rows: done.failures,
          fragments: done.failedFragments,
        },
      }),
    };
  },
  async discard({ job, table }) {
    const options = { ...storageOptions, ...table.storageOptions };
    await engine.table(table.location, options).discardCheckpoint(job.id);
  },
});
