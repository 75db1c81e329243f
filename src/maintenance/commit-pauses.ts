/** How this server pauses its commits when another member asks for it; see cluster/commit-pauses.ts. */
import type { Catalog } from "../catalog/catalog.js";
import type { CommitPause, CommitPauses } from "../cluster/commit-pauses.js";
import type { Engine } from "../engine/index.js";
import { startPolling } from "../foundation/poll-loop.js";
import type { Logger } from "../telemetry/logger.js";

const POLL_INTERVAL = 250;
/** How long commits to a branch pause after each poll that sees a request, ms: beyond the next poll. */
const PAUSE = 600;
/** The longest pause without a break, and the length of the break, ms: clients wait for their inserts. */
const LONGEST_PAUSE = 10_000;
const BREAK = 2_000;

export interface PauseDependencies {
  readonly commitPauses: Pick<CommitPauses, "request" | "requestedByOthers">;
  readonly catalog: Pick<Catalog, "tableByKey">;
  readonly engine: Pick<Engine, "starvedBranches" | "table">;
  /** Of the root; a table's options are added to them. */
  readonly storageOptions: Record<string, string>;
  readonly log: Logger;
}

type Closable = Pick<PauseDependencies, "catalog" | "commitPauses"> & { close(): Promise<void> };

/** Requests pauses from other members, and grants theirs, until the catalog is closed. */
export function withCommitPauses<T extends Closable>(
  opened: T,
  dependencies: Pick<PauseDependencies, "engine" | "storageOptions" | "log">,
): T {
  const { catalog, commitPauses } = opened;
  const pauser = new CommitPauser({ ...dependencies, catalog, commitPauses });
  const close = () => pauser.stop().finally(() => opened.close());
  return { ...opened, close };
}

class CommitPauser {
  /** Start of each requested pause, by its JSON text. */
  #started = new Map<string, number>();
  readonly #pausing = new Set<Promise<void>>();
  readonly #stopPolling: () => Promise<void>;

  constructor(private readonly dependencies: PauseDependencies) {
    this.#stopPolling = startPolling(
      POLL_INTERVAL,
      () => this.#poll(),
      (err) => dependencies.log.warn({ err }, "requests for commit pauses could not be exchanged"),
    );
  }

  async stop(): Promise<void> {
    await this.#stopPolling();
    await Promise.all(this.#pausing);
  }

  async #poll(): Promise<void> {
    const { commitPauses, engine, log } = this.dependencies;
    const starved = engine
      .starvedBranches()
      .map(({ incarnation, branch }) => ({ table: incarnation, branch: branch ?? "" }));
    await commitPauses.request(starved);
    const now = performance.now();
    const started = new Map<string, number>();
    for (const pause of await commitPauses.requestedByOthers()) {
      const text = JSON.stringify(pause);
      const since = this.#started.get(text) ?? now;
      const isBreak = now - since > LONGEST_PAUSE;
      // After the break the pause starts anew.
      if (now - since < LONGEST_PAUSE + BREAK) started.set(text, since);
      if (isBreak) continue;
      const pausing = this.#pause(pause)
        .catch((err) => log.warn({ err }, "commits could not be paused for another server"))
        .finally(() => this.#pausing.delete(pausing));
      this.#pausing.add(pausing);
    }
    this.#started = started;
  }

  /** Does nothing when the table is dropped. */
  async #pause({ table: key, branch }: CommitPause): Promise<void> {
    const { catalog, engine, storageOptions } = this.dependencies;
    const record = await catalog.tableByKey(key);
    if (!record) return;
    const options = { ...storageOptions, ...record.storageOptions };
    const table = engine.table(record.location, options);
    await (branch === "" ? table : table.onBranch(branch)).pauseCommits(PAUSE);
  }
}
