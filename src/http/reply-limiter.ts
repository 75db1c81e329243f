/** The share of the memory for requests that slow replies to one caller may hold. */
const callerShare = 1 / 4;
/** The share of the memory for requests that all slow replies may hold. */
const totalShare = 1 / 2;
/** How long a client has to be slow before the server may close its connection, ms. */
const slowLimit = 7_000;
/** Bytes per second. A client is slow if it reads less while the server has more to send. */
export const slowRate = 64 * 1024;

/** A reply that the server is sending. */
export interface SendingReply {
  /** Id of the authenticated identity. */
  readonly callerId: string;
  /** Bytes of the engine's memory that the reply holds until it is sent. */
  readonly heldBytes: number;
  /** How long the client has been slow without a break, ms. */
  readonly slowMs: number;
}

/**
 * Limits the memory that slow replies hold. A reply holds the memory of its query until it is sent.
 * Clients that read slowly, or not at all, could otherwise use up the memory of all requests.
 */
export class ReplyLimiter {
  constructor(
    private readonly callerLimit: number,
    private readonly totalLimit: number,
  ) {}

  /** `threads`: number of event loops. Each one limits its own replies to its share. */
  static of(workBytes: number, threads = 1): ReplyLimiter {
    return new ReplyLimiter(
      (workBytes * callerShare) / threads,
      (workBytes * totalShare) / threads,
    );
  }

  /**
   * The replies that the server has to stop so that the others fit, longest-slow replies first. The
   * only slow reply of a caller is in the result only if all slow replies together exceed the total limit.
   */
  excess<T extends SendingReply>(all: readonly T[]): T[] {
    const slow = all
      .filter(({ heldBytes, slowMs }) => heldBytes > 0 && slowMs >= slowLimit)
      .sort((a, b) => b.slowMs - a.slowMs);
    const callers = new Map<string, HeldBytes>();
    for (const { callerId, heldBytes } of slow) {
      const held = callers.get(callerId) ?? new HeldBytes();
      callers.set(callerId, held.add(heldBytes));
    }
    const stopped = new Set(
      slow.filter(({ callerId, heldBytes }) =>
        callers.get(callerId)?.removeIfOver(heldBytes, this.callerLimit),
      ),
    );
    // Many callers below their limits may exceed the total limit.
    const total = new HeldBytes();
    for (const reply of slow) if (!stopped.has(reply)) total.add(reply.heldBytes);
    return slow.filter(
      (reply) => stopped.has(reply) || total.removeIfOver(reply.heldBytes, this.totalLimit),
    );
  }
}

/** The bytes that several replies hold. */
class HeldBytes {
  #bytes = 0;
  #replies = 0;

  add(bytes: number): this {
    this.#bytes += bytes;
    this.#replies += 1;
    return this;
  }

  /** Removes a reply and returns true if the sum exceeds `limit`. Never removes the last reply. */
  removeIfOver(bytes: number, limit: number): boolean {
    if (this.#replies <= 1 || this.#bytes <= limit) return false;
    this.#bytes -= bytes;
    this.#replies -= 1;
    return true;
  }
}
