import { ErrorCode, JoustError } from "../foundation/errors.js";

const MAX_WAITING = 256;

/** Runs one prewarm task at a time, to leave memory and CPU to queries. */
export class PrewarmQueue {
  readonly #waiting = new Map<string, Promise<unknown>>();
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Runs a task after those that were queued before. Callers that use the key of a waiting task share that task.
   *
   * @throws code 21 when too many tasks wait
   */
  enqueue<T>(key: string, work: () => Promise<T>): Promise<T> {
    const queued = this.#waiting.get(key);
    if (queued) return queued as Promise<T>;
    if (this.#waiting.size >= MAX_WAITING) {
      throw new JoustError(
        ErrorCode.Throttling,
        "too many prewarm requests are waiting: try again later",
      );
    }
    const done = this.#last.then(() => {
      this.#waiting.delete(key);
      return work();
    });
    this.#waiting.set(key, done);
    this.#last = done.catch(() => {});
    return done;
  }
}
