import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "../telemetry/logger.js";

/** How often a write is tried again, ms. */
const RETRY_EVERY = 1_000;

/**
 * Writes by which this server lets go of something. They are needed most when something else has failed,
 * and that often is the catalog: without another attempt a name would be taken for as long as this server
 * lives.
 */
export class RetryQueue {
  readonly #open = new Map<string, () => Promise<void>>();
  readonly #closed = new AbortController();
  #retrying: Promise<void> | undefined;

  constructor(private readonly log: Logger) {}

  /** Does it at once, or when the catalog is back; does not fail. `name` tells it from all others. */
  async write(name: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (err) {
      this.log.warn(
        { err, write: name },
        "a write of the catalog failed; trying again until it does not",
      );
      this.#open.set(name, work);
      this.#retrying ??= this.#retry();
    }
  }

  /** Does what is open under a name before something follows that it would undo. */
  async finish(name: string): Promise<void> {
    await this.#open.get(name)?.();
    this.#open.delete(name);
  }

  /** What is still open others see to, once this server is gone. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#retrying;
  }

  async #retry(): Promise<void> {
    const { signal } = this.#closed;
    while (this.#open.size > 0) {
      await delay(RETRY_EVERY, undefined, { ref: false, signal }).catch(() => {});
      if (signal.aborted) break;
      for (const [name, work] of this.#open) {
        try {
          await work();
          this.#open.delete(name);
        } catch {
          // Still away, or of no help to the others.
        }
      }
    }
    this.#retrying = undefined;
  }
}
