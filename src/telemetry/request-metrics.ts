/** Upper bounds of the buckets of durations, s: a cached read of one row needs less than the first one. */
export const DURATION_BOUNDS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
] as const;

/** Counts as the operation of a request that names none: an unknown route, a page, a preflight. */
const OTHER = "other";
const FIRST_STATUS = 100;
const STATUSES = 500;
const BUCKETS = DURATION_BOUNDS.length + 1;
/** Numbers of one operation: its requests by status, its requests by bucket, and the sum of its durations, s. */
const SUM_AT = STATUSES + BUCKETS;
const WIDTH = SUM_AT + 1;

export interface RequestCount {
  readonly operation: string;
  readonly status: number;
  readonly count: number;
}

export interface RequestDurations {
  readonly operation: string;
  /** Requests in each bucket, not cumulative. The last bucket has no upper bound. */
  readonly buckets: readonly number[];
  /** Seconds. */
  readonly sum: number;
}

/**
 * Counts requests by operation and status, and their durations by operation. Each thread adds to numbers of its own in
 * a buffer that all threads share, so that counting needs no atomic operation and no message.
 */
export class RequestMetrics {
  readonly #names: readonly string[];
  readonly #offsets: ReadonlyMap<string, number>;
  readonly #all: Float64Array;
  readonly #own: Float64Array;

  /** `thread`: the number of this thread, from 0. `buffer`: the one of the main thread. */
  private constructor(
    operations: readonly string[],
    readonly buffer: SharedArrayBuffer,
    thread: number,
  ) {
    this.#names = [OTHER, ...operations];
    this.#offsets = new Map(this.#names.map((name, at) => [name, at * WIDTH]));
    this.#all = new Float64Array(buffer);
    const length = this.#names.length * WIDTH;
    this.#own = this.#all.subarray(thread * length, (thread + 1) * length);
  }

  static create(operations: readonly string[], threads: number): RequestMetrics {
    const bytes = threads * (operations.length + 1) * WIDTH * Float64Array.BYTES_PER_ELEMENT;
    return new RequestMetrics(operations, new SharedArrayBuffer(bytes), 0);
  }

  /** `operations`: the same as in the main thread. */
  static attach(
    operations: readonly string[],
    buffer: SharedArrayBuffer,
    thread: number,
  ): RequestMetrics {
    return new RequestMetrics(operations, buffer, thread);
  }

  /** Counts a request that has ended. An operation that is not in the list counts as `other`. */
  count(operation: string, status: number, ms: number): void {
    const own = this.#own;
    const offset = this.#offsets.get(operation) ?? 0;
    const seconds = ms / 1_000;
    let bucket = 0;
    while (seconds > (DURATION_BOUNDS[bucket] as number)) bucket++;
    add(own, offset + status - FIRST_STATUS, 1);
    add(own, offset + STATUSES + bucket, 1);
    add(own, offset + SUM_AT, seconds);
  }

  /** Of all threads. */
  counts(): RequestCount[] {
    const found: RequestCount[] = [];
    for (const { operation, numbers } of this.#totals()) {
      for (let at = 0; at < STATUSES; at++) {
        const count = numbers[at] as number;
        if (count > 0) found.push({ operation, status: at + FIRST_STATUS, count });
      }
    }
    return found;
  }

  /** Of all threads, for the operations that had a request. */
  durations(): RequestDurations[] {
    return this.#totals().map(({ operation, numbers }) => ({
      operation,
      buckets: [...numbers.subarray(STATUSES, SUM_AT)],
      sum: numbers[SUM_AT] as number,
    }));
  }

  #totals(): { operation: string; numbers: Float64Array }[] {
    const length = this.#own.length;
    const numbers = new Float64Array(length);
    for (let at = 0; at < this.#all.length; at++)
      add(numbers, at % length, this.#all[at] as number);
    return this.#names
      .map((operation, at) => ({
        operation,
        numbers: numbers.subarray(at * WIDTH, (at + 1) * WIDTH),
      }))
      .filter(({ numbers }) => numbers.subarray(STATUSES, SUM_AT).some((count) => count > 0));
  }
}

function add(numbers: Float64Array, at: number, value: number): void {
  numbers[at] = (numbers[at] as number) + value;
}
