import { operatorMessage } from "../foundation/errors.js";
import { startPolling } from "../foundation/poll-loop.js";
import type { Logger } from "../telemetry/logger.js";

/** Takes note of a used key. Called for each request: it does no work but to collect the id. */
export interface KeyUses {
  add(id: string): void;
}

/** How often the uses of keys are stored, ms. */
const INTERVAL = 60_000;

/** Collects the ids of used keys and stores them once a minute, off the path of requests. */
export class StoredKeyUses implements KeyUses {
  #ids = new Set<string>();
  readonly #stop: () => Promise<void>;

  constructor(
    private readonly store: (ids: readonly string[]) => Promise<void>,
    private readonly log: Logger,
  ) {
    this.#stop = startPolling(INTERVAL, () => this.#flush(), this.#failed);
  }

  add(id: string): void {
    this.#ids.add(id);
  }

  /** Stores the last uses. Never rejects. */
  async stop(): Promise<void> {
    await this.#stop();
    await this.#flush().catch(this.#failed);
  }

  async #flush(): Promise<void> {
    if (this.#ids.size === 0) return;
    const ids = this.#ids;
    this.#ids = new Set();
    try {
      await this.store([...ids]);
    } catch (error) {
      // The next attempt stores them.
      for (const id of ids) this.#ids.add(id);
      throw error;
    }
  }

  readonly #failed = (error: unknown): void => {
    this.log.warn({ reason: operatorMessage(error) }, "the last use of keys could not be stored");
  };
}

/** Reports the ids of used keys to the main thread, each id once a minute. */
export class ReportedKeyUses implements KeyUses {
  readonly #ids = new Set<string>();

  constructor(private readonly report: (id: string) => void) {
    setInterval(() => this.#ids.clear(), INTERVAL).unref();
  }

  add(id: string): void {
    if (this.#ids.has(id)) return;
    this.#ids.add(id);
    this.report(id);
  }
}
