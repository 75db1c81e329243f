import { ErrorCode, JoustError } from "../foundation/errors.js";

/** The part of the memory budget that collected bodies may take, all together. */
const share = 1 / 16;

/** The part that bodies may take before their callers are authenticated, all together. */
const unauthenticatedShare = 1 / 64;

/** A number of bytes. `add` gives back what it was before. */
export interface Counter {
  add(bytes: number): number;
}

function ownCounter(): Counter {
  let taken = 0;
  return {
    add(bytes) {
      const before = taken;
      taken += bytes;
      return before;
    },
  };
}

/**
 * Room for bodies that are collected, JSON and short uploads: many large ones at once are refused before
 * they take it all.
 */
export class BodyLimiter {
  constructor(
    private readonly limit: number,
    private readonly taken: Counter = ownCounter(),
  ) {}

  /** `taken`: shared with other threads that take of the same room. */
  static of(memoryBytes: number, taken?: Counter): BodyLimiter {
    return new BodyLimiter(Math.floor(memoryBytes * share), taken);
  }

  /** The room of bodies that are read before authentication. Authenticated callers do not share it. */
  static forUnauthenticated(memoryBytes: number): BodyLimiter {
    return new BodyLimiter(Math.floor(memoryBytes * unauthenticatedShare));
  }

  /** @throws code 21 when others have taken it; one body always has room. */
  take(bytes: number): void {
    const taken = this.taken.add(bytes);
    if (taken > 0 && taken + bytes > this.limit) {
      this.taken.add(-bytes);
      throw new JoustError(
        ErrorCode.Throttling,
        "other requests hold the memory that this one's body needs; send it again later",
      );
    }
  }

  /** For who can do without: leaves half of the room to others. False: it is taken. */
  tryTake(bytes: number): boolean {
    if (this.taken.add(bytes) + bytes <= this.limit / 2) return true;
    this.taken.add(-bytes);
    return false;
  }

  giveBack(bytes: number): void {
    this.taken.add(-bytes);
  }
}
