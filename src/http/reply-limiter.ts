/** The part of the memory for requests that the answers to one caller's slow readers may hold. */
const callerShare = 1 / 4;
/** The same for the answers to all slow readers. */
const totalShare = 1 / 2;
/** How long a reader has been slow when its answer may be cut off, ms. */
const patience = 7_000;
/** Bytes per second. A reader who takes less, while more is there for it, is slow. */
export const slowRate = 64 * 1024;

/** An answer that is being sent. */
export interface Sending {
  /** Tells callers apart. */
  readonly caller: string;
  /** Bytes of the engine's memory that it holds until it is sent. */
  readonly held: number;
  /** How long its reader has been slow without a break, ms. */
  readonly slowMs: number;
}

/**
 * Room for answers whose readers are slow. An answer holds the memory of its query until it is sent, so
 * callers who read slowly, or not at all, could take the memory that all requests share.
 */
export class ReplyLimiter {
  constructor(
    private readonly callerLimit: number,
    private readonly totalLimit: number,
  ) {}

  /** `threads`: event loops, each of which looks after its own answers. */
  static of(workBytes: number, threads = 1): ReplyLimiter {
    return new ReplyLimiter(
      (workBytes * callerShare) / threads,
      (workBytes * totalShare) / threads,
    );
  }

  /**
   * The answers that have to be cut off for the others to fit, those first that have been slow longest. The
   * only slow answer of a caller stays while there is room for all callers'.
   */
  excess<T extends Sending>(all: readonly T[]): T[] {
    const slow = all
      .filter(({ held, slowMs }) => held > 0 && slowMs >= patience)
      .sort((a, b) => b.slowMs - a.slowMs);
    const callers = new Map<string, Held>();
    for (const { caller, held } of slow) {
      const own = callers.get(caller) ?? new Held();
      callers.set(caller, own.add(held));
    }
    const cut = new Set(
      slow.filter(({ caller, held }) => callers.get(caller)?.leaves(held, this.callerLimit)),
    );
    // Callers that keep to their own limits may be too many.
    const total = new Held();
    for (const answer of slow) if (!cut.has(answer)) total.add(answer.held);
    return slow.filter((answer) => cut.has(answer) || total.leaves(answer.held, this.totalLimit));
  }
}

/** What several answers hold. */
class Held {
  #bytes = 0;
  #answers = 0;

  add(bytes: number): this {
    this.#bytes += bytes;
    this.#answers += 1;
    return this;
  }

  /** Takes an answer of so many bytes out when all are too much; a single one never is. */
  leaves(bytes: number, limit: number): boolean {
    if (this.#answers <= 1 || this.#bytes <= limit) return false;
    this.#bytes -= bytes;
    this.#answers -= 1;
    return true;
  }
}
