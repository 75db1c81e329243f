/**
 * Writes in flight. A write that ends after the removal of its dropped table would bring files back, and with them a
 * table. So a drop aborts the uploads that still arrive, waits for all other writes, and only then removes the files.
 */

import type { Catalog } from "../catalog/catalog.js";
import { tableNotFound } from "../catalog/failures.js";
import type { DroppedTable } from "../cluster/removal-acknowledgements.js";
import { type ArrowBody, type Engine, Upload } from "../engine/index.js";
import { type InFlightEntry, InFlightSet, notInFlight } from "../foundation/in-flight-set.js";
import {
  checkLive,
  forgetHandle,
  type OpenTable,
  onTableAtHand,
  type TableDependencies,
} from "./open-table.js";

class Write implements InFlightEntry {
  position = notInFlight;
  stopped = false;
  #ended: Promise<void> | undefined;
  #end: (() => void) | undefined;

  constructor(
    readonly key: string,
    private readonly body: ArrowBody | undefined,
  ) {}

  /** Aborts an upload that is still arriving. Resolves when the write has ended. */
  stop(): Promise<void> {
    this.stopped = true;
    if (this.body instanceof Upload) this.body.abort();
    this.#ended ??= new Promise((resolve) => {
      this.#end = resolve;
    });
    return this.#ended;
  }

  end(): void {
    this.#end?.();
  }
}

const inFlight = new InFlightSet<Write>();

export interface TableWriteDependencies extends TableDependencies {
  readonly maintenance: { tableChanged(key: string): void };
}

export interface ReferenceWriteDependencies extends TableWriteDependencies {
  readonly catalog: TableDependencies["catalog"] &
    Pick<Catalog, "lockReferences" | "unlockReferences">;
}

/** The threads that answer requests. */
export interface Threads {
  /** Ends the work of all threads on a table that this server no longer owns. */
  endTableWork(key: string): Promise<void>;
}

export interface TableWorkDependencies {
  readonly engine: Pick<Engine, "closeTable">;
  readonly threads: Threads;
  readonly jobs: { cancelTable(key: string): Promise<boolean> };
}

type OnTable = <T>(
  services: TableDependencies,
  id: readonly string[],
  work: (open: OpenTable) => Promise<T>,
) => Promise<T>;

/** Runs work that changes a table; see `onTable`. @throws code 4 when the table is dropped meanwhile */
export function changingTable<T>(
  services: TableWriteDependencies,
  id: readonly string[],
  body: ArrowBody | undefined,
  work: (open: OpenTable) => Promise<T>,
  open: OnTable = onTableAtHand,
): Promise<T> {
  return open(services, id, async (open) => {
    const { key } = open.record;
    const write = new Write(key, body);
    inFlight.add(write);
    try {
      // A drop from here on sees this write.
      const check = checkLive(services, open.record);
      if (check) await check;
      const done = await work(open);
      services.maintenance.tableChanged(key);
      return done;
    } catch (error) {
      throw write.stopped ? tableNotFound(id) : error;
    } finally {
      inFlight.delete(write);
      write.end();
    }
  });
}

/**
 * Like `changingTable`, for changes of tags and branches, or changes that must see them consistently: holds the
 * table's reference lock, so that one server of the cluster runs at a time.
 */
export function changingReferences<T>(
  services: ReferenceWriteDependencies,
  id: readonly string[],
  work: (open: OpenTable) => Promise<T>,
): Promise<T> {
  return changingTable(services, id, undefined, async (open) => {
    const { catalog } = services;
    const { key } = open.record;
    await catalog.lockReferences(key);
    try {
      return await work(open);
    } finally {
      void catalog.unlockReferences(key);
    }
  });
}

/** Stops the writes to a dropped table. Resolves when all have ended. */
async function stopWrites(key: string): Promise<void> {
  const writes = inFlight.all().filter((write) => write.key === key);
  await Promise.all(writes.map((write) => write.stop()));
}

/** Ends the work of this thread on a table that this server no longer owns. */
export async function endTableWorkInThread(
  services: Parameters<typeof forgetHandle>[0],
  key: string,
): Promise<void> {
  await stopWrites(key);
  forgetHandle(services, key);
}

/**
 * Ends the writes and jobs of this server on a table that it no longer owns, and closes the table. Queries that run
 * continue. Resolves to false when a job has not ended 10 s after it was cancelled.
 */
export async function endTableWork(
  services: TableWorkDependencies,
  { key, location }: DroppedTable,
): Promise<boolean> {
  const [jobsEnded] = await Promise.all([
    services.jobs.cancelTable(key),
    services.threads.endTableWork(key),
  ]);
  services.engine.closeTable(location);
  return jobsEnded;
}

/**
 * Like `endTableWork`, before the files of the table are removed: a job that ends later would bring files back.
 *
 * @throws Error when a job has not ended 10 s after it was cancelled
 */
export async function endWorkBeforeRemoval(
  services: TableWorkDependencies,
  table: DroppedTable,
): Promise<void> {
  if (await endTableWork(services, table)) return;
  throw new Error("a job still runs on the table, although it was cancelled 10 s ago");
}
