import { ErrorCode, JoustError } from "../foundation/errors.js";

/** The share of the memory budget for all buffered bodies of authenticated callers. */
const authenticatedShare = 1 / 16;

/** The share of the memory budget for all bodies that are buffered before authentication. */
const unauthenticatedShare = 1 / 64;

/** A number of bytes. `add` returns the value before the addition. */
export interface ByteCounter {
  add(bytes: number): number;
}

function localCounter(): ByteCounter {
  let total = 0;
  return {
    add(bytes) {
      const before = total;
      total += bytes;
      return before;
    },
  };
}

/** Limits the memory of buffered bodies (JSON, short uploads). Refuses a body beyond the limit. */
export class BodyLimiter {
  constructor(
    private readonly limit: number,
    private readonly reserved: ByteCounter = localCounter(),
  ) {}

  /** `reserved`: a counter that all threads of the process share. */
  static forAuthenticated(memoryBytes: number, reserved?: ByteCounter): BodyLimiter {
    return new BodyLimiter(Math.floor(memoryBytes * authenticatedShare), reserved);
  }

  /** A separate limit for unauthenticated callers, so that they cannot block authenticated ones. */
  static forUnauthenticated(memoryBytes: number): BodyLimiter {
    return new BodyLimiter(Math.floor(memoryBytes * unauthenticatedShare));
  }

  /** @throws code 21 if other bodies use the memory; a single body always fits */
  reserve(bytes: number): void {
    const others = this.reserved.add(bytes);
    if (others > 0 && others + bytes > this.limit) {
      this.reserved.add(-bytes);
      throw new JoustError(
        ErrorCode.Throttling,
        "other requests hold the memory that the body of this request needs; send it again later",
      );
    }
  }

  /** For optional buffering: uses at most half of the limit. Returns false if that half is used. */
  tryReserve(bytes: number): boolean {
    if (this.reserved.add(bytes) + bytes <= this.limit / 2) return true;
    this.reserved.add(-bytes);
    return false;
  }

  release(bytes: number): void {
    this.reserved.add(-bytes);
  }
}
