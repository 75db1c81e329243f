/**
 * Writes in flight. A write that ended after its table was dropped would bring files, and
 * with them a table, back: so who drops one stops its writes, waits for them, and only then removes
 * the files.
 */
import type { DroppedTable } from "../catalog/catalog.js";
import { tableNotFound } from "../catalog/failures.js";
import type { Upload } from "../engine/index.js";
import { type Flying, grounded, InFlight } from "../in-flight.js";
import type { Services } from "../services.js";
import { checkLive, forgetHandle, type OpenTable, onTable } from "./open-table.js";

class Write implements Flying {
  place = grounded;
  stopped = false;
  readonly ended: Promise<void>;
  end!: () => void;

  constructor(
    readonly key: string,
    private readonly upload: Upload | undefined,
  ) {
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
  }

  /** An upload ends at once; other writes come to their own end. */
  stop(): void {
    this.stopped = true;
    this.upload?.abort();
  }
}

const inFlight = new InFlight<Write>();

/** Works on a table as `onTable` does, and changes it. @throws code 4 when it is dropped meanwhile */
export function writing<T>(
  services: Services,
  id: readonly string[],
  upload: Upload | undefined,
  work: (open: OpenTable) => Promise<T>,
  open: typeof onTable = onTable,
): Promise<T> {
  return open(services, id, async (open) => {
    const { key } = open.record;
    const write = new Write(key, upload);
    inFlight.add(write);
    try {
      // Whoever drops the table from here on sees this write.
      await checkLive(services, open.record);
      const done = await work(open);
      services.maintenance.touched(key);
      return done;
    } catch (error) {
      throw write.stopped ? tableNotFound(id) : error;
    } finally {
      inFlight.delete(write);
      write.end();
    }
  });
}

/** Stops the writes of a table that was dropped; resolves when none is left. */
async function stopWrites(key: string): Promise<void> {
  const writes = inFlight.all().filter((write) => write.key === key);
  for (const write of writes) write.stop();
  await Promise.all(writes.map((write) => write.ended));
}

/** Ends what this thread does with a table that is not the server's own any more. */
export async function leaveTable(services: Pick<Services, "engine">, key: string): Promise<void> {
  await stopWrites(key);
  forgetHandle(services, key);
}

/** Ends what this server does with a table that is not its own any more. */
export async function letGo(
  services: Pick<Services, "jobs" | "engine" | "threads">,
  { key, location }: DroppedTable,
): Promise<void> {
  await Promise.all([services.threads.leaveTable(key), services.jobs.cancelTable(key)]);
  services.engine.closeTable(location);
}
