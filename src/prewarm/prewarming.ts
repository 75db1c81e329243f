import { ErrorCode, JoustError } from "../foundation/errors.js";

/** Works that may wait for their turn. */
const MAX_WAITING = 256;

/** Loads one thing at a time, so that prewarming leaves room for queries. */
export class Prewarming {
  readonly #waiting = new Map<string, Promise<unknown>>();
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Does the work when its turn comes. Under one key it is done once for all who ask before it begins.
   * @throws code 21 when too much waits
   */
  inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
    const known = this.#waiting.get(key);
    if (known) return known as Promise<T>;
    if (this.#waiting.size >= MAX_WAITING) {
      throw new JoustError(ErrorCode.Throttling, "too much waits to be prewarmed: try again later");
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
