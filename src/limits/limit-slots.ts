import { createHash, randomBytes } from "node:crypto";
import type { Word } from "./token-bucket.js";

/** The words of a slot. */
const TAG = 0;
const REQUESTS = 1;
const UPLOAD = 2;
const QUERIES = 3;
const WORDS = 4;

/** How many slots a lookup reads at most. */
const PROBES = 32;

/** Tags of names that a thread has hashed before. Beyond this number it forgets all of them. */
const MAX_CACHED_TAGS = 10_000;

/** The state of the limits of one caller, namespace or address, in memory that all threads share. */
export class LimitSlot {
  readonly requests: Word;
  readonly upload: Word;

  constructor(
    private readonly words: BigInt64Array,
    private readonly first: number,
  ) {
    this.requests = { words, index: first + REQUESTS };
    this.upload = { words, index: first + UPLOAD };
  }

  /** Counts a query unless `limit` queries run. Returns false then. */
  beginQuery(limit: number): boolean {
    const before = Atomics.add(this.words, this.first + QUERIES, 1n);
    if (before < BigInt(limit)) return true;
    this.endQuery();
    return false;
  }

  endQuery(): void {
    Atomics.sub(this.words, this.first + QUERIES, 1n);
  }
}

/**
 * A hash table in shared memory, from names to the state of their limits. A lookup takes no lock and calls no other
 * thread.
 *
 * A slot without running queries and with full buckets is as good as a new one, so another name may reuse it. If all
 * slots of a lookup are in use, the name shares the first of them. If two threads look up a new name at the same time,
 * they may use two slots until the next lookup.
 */
export class LimitSlots {
  readonly #words: BigInt64Array;
  readonly #count: number;
  readonly #tags = new Map<string, bigint>();

  /** `seed`: the same in all threads. It keeps clients from choosing names that share a slot. */
  constructor(
    buffer: SharedArrayBuffer,
    private readonly seed: string,
  ) {
    this.#words = new BigInt64Array(buffer);
    this.#count = this.#words.length / WORDS;
  }

  /** Memory for a number of slots. The system provides it when a slot is first used. */
  static allocate(count: number): SharedArrayBuffer {
    return new SharedArrayBuffer(count * WORDS * BigInt64Array.BYTES_PER_ELEMENT);
  }

  static newSeed(): string {
    return randomBytes(16).toString("hex");
  }

  /** The slot of a name. `now`: as for token buckets. */
  of(name: string, now: bigint): LimitSlot {
    const tag = this.#tag(name);
    const home = Number(BigInt.asUintN(32, tag) % BigInt(this.#count));
    const found = this.#find(tag, home) ?? this.#claim(tag, home, now);
    return new LimitSlot(this.#words, found ?? home * WORDS);
  }

  #find(tag: bigint, home: number): number | undefined {
    for (let probe = 0; probe < this.#probes; probe++) {
      const at = this.#at(home, probe);
      if (Atomics.load(this.#words, at + TAG) === tag) return at;
    }
    return undefined;
  }

  #claim(tag: bigint, home: number, now: bigint): number | undefined {
    for (let probe = 0; probe < this.#probes; probe++) {
      const at = this.#at(home, probe);
      const former = Atomics.load(this.#words, at + TAG);
      if (former !== 0n && !this.#isIdle(at, now)) continue;
      // Another thread may have claimed this slot, or an earlier one for the same name.
      if (Atomics.compareExchange(this.#words, at + TAG, former, tag) === former) {
        return this.#find(tag, home);
      }
    }
    return undefined;
  }

  #isIdle(at: number, now: bigint): boolean {
    const words = this.#words;
    const isFull = (word: number) => Atomics.load(words, at + word) <= now;
    return isFull(REQUESTS) && isFull(UPLOAD) && Atomics.load(words, at + QUERIES) === 0n;
  }

  get #probes(): number {
    return Math.min(PROBES, this.#count);
  }

  #at(home: number, probe: number): number {
    return ((home + probe) % this.#count) * WORDS;
  }

  /** 0 marks a free slot. */
  #tag(name: string): bigint {
    let tag = this.#tags.get(name);
    if (tag === undefined) {
      const digest = createHash("sha256").update(this.seed).update(name).digest();
      tag = digest.readBigInt64LE(0) || 1n;
      if (this.#tags.size >= MAX_CACHED_TAGS) this.#tags.clear();
      this.#tags.set(name, tag);
    }
    return tag;
  }
}
