import type { Catalog } from "../catalog/catalog.js";
import type { Engine, RefreshOptions, ViewSource } from "../engine/index.js";
import { given } from "./given.js";
import type { JobKind, JobOutcome } from "./jobs.js";
import { withTask } from "./task.js";

/** How a view is refreshed; equal wishes are equal specs. */
export interface RefreshSpec {
  /** Of the one table that the view reads. */
  src_version?: number;
  max_rows_per_fragment?: number;
  concurrency?: number;
}

export interface RefreshOptionsOfServer {
  engine: Engine;
  catalog: Pick<Catalog, "table">;
  storageOptions: Record<string, string>;
}

/** Replaces a view's rows by what its query gives, in one version. */
export const viewRefresh = ({
  engine,
  catalog,
  storageOptions,
}: RefreshOptionsOfServer): JobKind => ({
  kind: "refresh",
  async run({ table, spec, signal, onProgress }): Promise<JobOutcome> {
    const wanted = JSON.parse(spec) as RefreshSpec;
    const options = { ...storageOptions, ...table.storageOptions };
    const view = engine.table(table.location, options);
    const { tables } = await view.view();
    const sources: ViewSource[] = [];
    for (const named of tables) {
      // By name, as the query has it: the table may be another one by now.
      const source = await catalog.table(named.table);
      sources.push({
        ...named,
        location: source.location,
        storageOptions: { ...storageOptions, ...source.storageOptions },
        ...(wanted.src_version !== undefined && { version: wanted.src_version }),
      });
    }
    const refresh = given<RefreshOptions>({
      sources,
      maxRowsPerFragment: wanted.max_rows_per_fragment,
      concurrency: wanted.concurrency,
    });
    const done = await withTask(signal, (task) => view.refreshView(refresh, task, onProgress));
    return {
      result: {
        mode: "rebuild",
        rows_written: done.rowsWritten,
        version: done.version,
        rows_assigned: done.rowsWritten,
        rows_failed: 0,
        rows_remaining: 0,
        source_version: done.sourceVersions[0] ?? 0,
        published_version: done.version,
        sources: tables.map((named, at) => ({
          table: named.table,
          version: done.sourceVersions[at],
        })),
      },
    };
  },
});
