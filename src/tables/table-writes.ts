/**
 * Writes in flight. A write that ended after its table was dropped would bring files, and
 * with them a table, back: so who drops one stops its writes, waits for them, and only then removes
 * the files.
 */

import type { Catalog } from "../catalog/catalog.js";
import { tableNotFound } from "../catalog/failures.js";
import type { DroppedTable } from "../cluster/removal-acknowledgements.js";
import { type ArrowBody, type Engine, Upload } from "../engine/index.js";
import { type InFlightEntry, InFlightSet, notInFlight } from "../foundation/in-flight-set.js";
import {
  checkLive,
  forgetHandle,
  type Opening,
  type OpenTable,
  onTableAtHand,
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

  /** An upload that is still coming ends at once; other writes come to their own end. Resolves then. */
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

/** What a change of a table takes. */
export interface ChangingTable extends Opening {
  readonly maintenance: { tableChanged(key: string): void };
}

/** What a change of tags and branches takes. */
export interface ChangingReferences extends ChangingTable {
  readonly catalog: Opening["catalog"] & Pick<Catalog, "lockReferences" | "unlockReferences">;
}

/** The threads that answer requests, as one of them sees them. */
export interface Threads {
  /** Ends what any of them does with a table that is not the server's own any more. */
  releaseTable(key: string): Promise<void>;
}

/** What it takes to end the work on a table that is not the server's own any more. */
export interface Releasing {
  readonly engine: Engine;
  readonly threads: Threads;
  readonly jobs: { cancelTable(key: string): Promise<void> };
}

type OnTable = <T>(
  services: Opening,
  id: readonly string[],
  work: (open: OpenTable) => Promise<T>,
) => Promise<T>;

/** Works on a table as `onTable` does, and changes it. @throws code 4 when it is dropped meanwhile */
export function changingTable<T>(
  services: ChangingTable,
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
      // Whoever drops the table from here on sees this write.
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
 * As `writing`, for a change of the table's tags or branches, or one that must see them as they are: one
 * server of the catalog at a time.
 */
export function changingReferences<T>(
  services: ChangingReferences,
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

/** Stops the writes of a table that was dropped; resolves when none is left. */
async function stopWrites(key: string): Promise<void> {
  const writes = inFlight.all().filter((write) => write.key === key);
  await Promise.all(writes.map((write) => write.stop()));
}

/** Ends what this thread does with a table that is not the server's own any more. */
export async function releaseTableInThread(
  services: Pick<Releasing, "engine">,
  key: string,
): Promise<void> {
  await stopWrites(key);
  forgetHandle(services, key);
}

/** Ends what this server does with a table that is not its own any more. */
export async function releaseTable(
  services: Releasing,
  { key, location }: DroppedTable,
): Promise<void> {
  await Promise.all([services.threads.releaseTable(key), services.jobs.cancelTable(key)]);
  services.engine.closeTable(location);
}
