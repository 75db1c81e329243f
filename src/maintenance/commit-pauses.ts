import type { Catalog } from "../catalog/catalog.js";
import type { CommitPauses, Pause } from "../cluster/commit-pauses.js";
import type { Engine } from "../engine/index.js";
import { startPolling } from "../foundation/poll-loop.js";
import type { Logger } from "../telemetry/logger.js";

/** How often the catalog is read for pauses that others ask for, ms. */
const INTERVAL = 250;
/** How long commits to a branch pause each time that another server is seen to ask, ms: beyond the next look. */
const PAUSE = 600;
/** How long they pause without a break, ms, and how long the break is: clients wait for their inserts. */
const LONGEST = 10_000;
const BREAK = 2_000;

export interface PauseDependencies {
  readonly commitPauses: Pick<CommitPauses, "ask" | "elsewhere">;
  readonly catalog: Pick<Catalog, "tableByKey">;
  readonly engine: Pick<Engine, "outrun" | "table">;
  /** What reaching the root needs; a table's own options come on top. */
  readonly storageOptions: Record<string, string>;
  readonly log: Logger;
}

type Closable = Pick<PauseDependencies, "catalog" | "commitPauses"> & { close(): Promise<void> };

/** An open catalog, with commits paused as servers ask one another until it is closed. */
export function pausingCommits<T extends Closable>(
  opened: T,
  own: Pick<PauseDependencies, "engine" | "storageOptions" | "log">,
): T {
  const { catalog, commitPauses } = opened;
  const watch = new Watch({ ...own, catalog, commitPauses });
  const close = () => watch.stop().finally(() => opened.close());
  return { ...opened, close };
}

class Watch {
  /** When the pauses began that others ask for. */
  #began = new Map<string, number>();
  readonly #pausing = new Set<Promise<void>>();
  readonly #stopLooking: () => Promise<void>;

  constructor(private readonly surroundings: PauseDependencies) {
    this.#stopLooking = startPolling(
      INTERVAL,
      () => this.#look(),
      (err) => surroundings.log.warn({ err }, "pauses of commits could not be looked for"),
    );
  }

  async stop(): Promise<void> {
    await this.#stopLooking();
    await Promise.all(this.#pausing);
  }

  async #look(): Promise<void> {
    const { commitPauses, engine, log } = this.surroundings;
    const outrun = engine
      .outrun()
      .map(({ life, branch }) => ({ table: life, branch: branch ?? "" }));
    await commitPauses.ask(outrun);
    const now = performance.now();
    const began = new Map<string, number>();
    for (const pause of await commitPauses.elsewhere()) {
      const text = JSON.stringify(pause);
      const since = this.#began.get(text) ?? now;
      const isOver = now - since > LONGEST;
      if (now - since < LONGEST + BREAK) began.set(text, since);
      if (isOver) continue;
      const pausing = this.#pause(pause)
        .catch((err) => log.warn({ err }, "commits could not be paused for another server"))
        .finally(() => this.#pausing.delete(pausing));
      this.#pausing.add(pausing);
    }
    this.#began = began;
  }

  /** Nothing for a table that is gone. */
  async #pause({ table: key, branch }: Pause): Promise<void> {
    const { catalog, engine, storageOptions } = this.surroundings;
    const record = await catalog.tableByKey(key);
    if (!record) return;
    const options = { ...storageOptions, ...record.storageOptions };
    const table = engine.table(record.location, options);
    await (branch === "" ? table : table.onBranch(branch)).pauseCommits(PAUSE);
  }
}
