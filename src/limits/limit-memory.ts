import { LimitExceeded, type LimitScope } from "./limit-exceeded.js";
import { LimitSlots } from "./limit-slots.js";

/** The most callers, namespaces and addresses whose state fits at a time. */
const SLOTS = 16_384;

/** What a limit refuses: the pairs that the metrics count. */
const counted: readonly (readonly [LimitScope, string])[] = [
  ...[
    "requests_per_second",
    "concurrent_queries",
    "upload_bytes_per_second",
    "jobs",
    "rows",
    "bytes",
  ].flatMap((limit) => [["caller", limit] as const, ["namespace", limit] as const]),
  ["unauthenticated", "requests_per_second"],
];

/** Number of refused requests of one scope and limit. */
export interface RefusalCount {
  readonly scope: LimitScope;
  readonly limit: string;
  readonly count: number;
}

/** What the main thread passes to the other threads. */
export interface LimitBuffers {
  readonly seed: string;
  readonly callers: SharedArrayBuffer;
  readonly namespaces: SharedArrayBuffer;
  readonly addresses: SharedArrayBuffer;
  readonly refusals: SharedArrayBuffer;
}

/** The state of all limits, which all threads of the process share. */
export class LimitMemory {
  readonly callers: LimitSlots;
  readonly namespaces: LimitSlots;
  readonly addresses: LimitSlots;
  readonly #refusals: BigInt64Array;

  constructor(readonly buffers: LimitBuffers = newBuffers()) {
    const { seed } = buffers;
    this.callers = new LimitSlots(buffers.callers, seed);
    this.namespaces = new LimitSlots(buffers.namespaces, seed);
    this.addresses = new LimitSlots(buffers.addresses, seed);
    this.#refusals = new BigInt64Array(buffers.refusals);
  }

  /** Counts an error if it is a refusal, and returns it. */
  countIfRefused(error: unknown): unknown {
    if (error instanceof LimitExceeded) {
      const { scope, limit } = error;
      const at = counted.findIndex(([ofScope, name]) => ofScope === scope && name === limit);
      if (at >= 0) Atomics.add(this.#refusals, at, 1n);
    }
    return error;
  }

  refusals(): RefusalCount[] {
    return counted.map(([scope, limit], at) => ({
      scope,
      limit,
      count: Number(Atomics.load(this.#refusals, at)),
    }));
  }
}

function newBuffers(): LimitBuffers {
  return {
    seed: LimitSlots.newSeed(),
    callers: LimitSlots.allocate(SLOTS),
    namespaces: LimitSlots.allocate(SLOTS),
    addresses: LimitSlots.allocate(SLOTS),
    refusals: new SharedArrayBuffer(counted.length * BigInt64Array.BYTES_PER_ELEMENT),
  };
}
