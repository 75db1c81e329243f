import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "../telemetry/logger.js";

const RETRY_INTERVAL = 1_000;

/**
 * Writes that release something in the catalog: a name, a lock, a version. They often run because something else
 * failed, and the cause is often the catalog itself. Without a retry the name or lock would stay taken until this
 * server stops.
 */
export class RetryQueue {
  readonly #pending = new Map<string, () => Promise<void>>();
  readonly #closed = new AbortController();
  #retrying: Promise<void> | undefined;

  constructor(private readonly log: Logger) {}

  /**
   * Runs a write at once. When the write fails, the queue repeats it until it succeeds. Does not reject. `name`
   * identifies the write: a later one of the same name replaces it in the queue.
   */
  async run(name: string, write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (err) {
      this.log.warn({ err, write: name }, "a write to the catalog failed and will be repeated");
      this.#pending.set(name, write);
      this.#retrying ??= this.#retry();
    }
  }

  /** Runs the pending write of that name now, before the caller makes a change that the write would undo. */
  async flush(name: string): Promise<void> {
    await this.#pending.get(name)?.();
    this.#pending.delete(name);
  }

  /** Stops the retries. Other servers clean up what is still pending once this one is dead. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#retrying;
  }

  async #retry(): Promise<void> {
    const { signal } = this.#closed;
    while (this.#pending.size > 0) {
      await delay(RETRY_INTERVAL, undefined, { ref: false, signal }).catch(() => {});
      if (signal.aborted) break;
      for (const [name, write] of this.#pending) {
        try {
          await write();
          this.#pending.delete(name);
        } catch {
          // The catalog is still away. The other writes are tried all the same.
        }
      }
    }
    this.#retrying = undefined;
  }
}
