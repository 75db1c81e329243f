/** The caches that spare a request work of authentication and authorization. */
export const authCaches = ["keys", "tokens", "grants", "privileges"] as const;

export type AuthCache = (typeof authCaches)[number];

/** Numbers of one thread: hits and misses of each cache, and what it knows of the identity provider. */
const FETCHES = authCaches.length * 2;
const FAILED_FETCHES = FETCHES + 1;
/** 1: the last fetch failed. */
const IS_FAILING = FETCHES + 2;
/** When the keys in use were fetched, ms since the epoch; 0: never. */
const FETCHED_AT = FETCHES + 3;
const WIDTH = FETCHES + 4;

let all: Float64Array = new Float64Array(WIDTH);
/** Each thread adds to numbers of its own, so that counting needs no atomic operation and no message. */
let own = all;

/** Called once in the main thread, before others start. Returns the buffer for them. */
export function shareAuthCounts(threads: number): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(threads * WIDTH * Float64Array.BYTES_PER_ELEMENT);
  attachAuthCounts(buffer, 0);
  return buffer;
}

/** `thread`: the number of this thread, from 0. */
export function attachAuthCounts(buffer: SharedArrayBuffer, thread: number): void {
  all = new Float64Array(buffer);
  own = all.subarray(thread * WIDTH, (thread + 1) * WIDTH);
}

export function countLookup(cache: AuthCache, isHit: boolean): void {
  const at = authCaches.indexOf(cache) * 2 + (isHit ? 0 : 1);
  own[at] = (own[at] as number) + 1;
}

/** Counts a fetch of the keys of the identity provider. */
export function countFetch(hasFailed: boolean): void {
  const at = hasFailed ? FAILED_FETCHES : FETCHES;
  own[at] = (own[at] as number) + 1;
  own[IS_FAILING] = hasFailed ? 1 : 0;
  if (!hasFailed) own[FETCHED_AT] = Date.now();
}

export interface AuthCounts {
  readonly caches: readonly { cache: AuthCache; hits: number; misses: number }[];
  /** Each thread fetches the keys for itself. */
  readonly provider: {
    readonly fetches: number;
    readonly failedFetches: number;
    /** The last fetch of a thread failed. */
    readonly isFailing: boolean;
    /** When the oldest keys in use were fetched, ms since the epoch; undefined: a thread has none. */
    readonly fetchedAtMillis: number | undefined;
  };
}

/** Of all threads. */
export function authCounts(): AuthCounts {
  const threads = Array.from({ length: all.length / WIDTH }, (_, thread) =>
    all.subarray(thread * WIDTH, (thread + 1) * WIDTH),
  );
  const valuesAt = (at: number): number[] => threads.map((numbers) => numbers[at] as number);
  const sum = (at: number): number => valuesAt(at).reduce((total, value) => total + value, 0);
  const oldest = Math.min(...valuesAt(FETCHED_AT));
  return {
    caches: authCaches.map((cache, at) => ({
      cache,
      hits: sum(at * 2),
      misses: sum(at * 2 + 1),
    })),
    provider: {
      fetches: sum(FETCHES),
      failedFetches: sum(FAILED_FETCHES),
      isFailing: valuesAt(IS_FAILING).some((failing) => failing !== 0),
      fetchedAtMillis: oldest > 0 ? oldest : undefined,
    },
  };
}
