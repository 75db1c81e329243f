import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "../telemetry/logger.js";

const RETRY_INTERVAL = 1_000;

interface PendingWrite {
  readonly write: () => Promise<void>;
  running?: Promise<void> | undefined;
}

/**
 * Writes that release something in the catalog: a name, a lock, a version. They often run because something else
 * failed, and the cause is often the catalog itself. Without a retry the name or lock would stay taken until this
 * server stops.
 */
export class RetryQueue {
  readonly #pending = new Map<string, PendingWrite>();
  readonly #closed = new AbortController();
  #retrying: Promise<void> | undefined;

  constructor(private readonly log: Logger) {}

  /**
   * Runs a write at once. When the write fails, the queue repeats it until it succeeds. Does not reject. `name`
   * identifies the write: a later one of the same name replaces it in the queue.
   */
  async run(name: string, write: () => Promise<void>): Promise<void> {
    const pending = { write };
    this.#pending.set(name, pending);
    try {
      await this.#attempt(name, pending);
    } catch (err) {
      this.log.warn({ err, write: name }, "a write to the catalog failed and will be repeated");
      this.#retrying ??= this.#retry();
    }
  }

  /**
   * Runs the pending writes whose names have this prefix, before the caller makes a change that they would undo. Rejects
   * if one of them fails.
   */
  async flush(prefix: string): Promise<void> {
    for (const [name, pending] of this.#pending) {
      if (name.startsWith(prefix)) await this.#attempt(name, pending);
    }
  }

  /** Stops the retries. Other servers clean up what is still pending once this one is dead. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#retrying;
  }

  /** Joins the attempt that runs, so that no statement of the write is under way afterwards. */
  #attempt(name: string, pending: PendingWrite): Promise<void> {
    pending.running ??= pending
      .write()
      .then(() => {
        if (this.#pending.get(name) === pending) this.#pending.delete(name);
      })
      .finally(() => {
        pending.running = undefined;
      });
    return pending.running;
  }

  async #retry(): Promise<void> {
    const { signal } = this.#closed;
    while (this.#pending.size > 0) {
      await delay(RETRY_INTERVAL, undefined, { ref: false, signal }).catch(() => {});
      if (signal.aborted) break;
      for (const [name, pending] of this.#pending) {
        // The catalog is still away after a failure. The other writes are tried all the same.
        await this.#attempt(name, pending).catch(() => {});
      }
    }
    this.#retrying = undefined;
  }
}
