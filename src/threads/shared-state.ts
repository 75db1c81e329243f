/** Indexes into the 32-bit words of the buffer. */
const CATALOG_EPOCH = 0;
const WARMING = 1;
const WORDS = 2;
/** Index into the 64-bit counters behind the words. */
const BODY_BYTES = 0;

/** Numbers that all threads of the process share. */
export class SharedState {
  readonly #words: Int32Array;
  readonly #counters: BigInt64Array;

  /** `buffer`: the buffer of another thread's `SharedState`. */
  constructor(readonly buffer: SharedArrayBuffer = new SharedArrayBuffer(WORDS * 4 + 8)) {
    this.#words = new Int32Array(buffer, 0, WORDS);
    this.#counters = new BigInt64Array(buffer, WORDS * 4, 1);
  }

  /** Epoch of the catalog: each commit of this process raises it. */
  readonly epoch = {
    current: (): number => Atomics.load(this.#words, CATALOG_EPOCH),
    raise: (): void => void Atomics.add(this.#words, CATALOG_EPOCH, 1),
  };

  /** True while the server prewarms the tables of `--prewarm`. */
  readonly warming = {
    get: (): boolean => Atomics.load(this.#words, WARMING) !== 0,
    set: (warming: boolean): void => void Atomics.store(this.#words, WARMING, warming ? 1 : 0),
  };

  /** Bytes of buffered request bodies. */
  readonly bodyBytes = {
    /** Returns the value before the addition. */
    add: (bytes: number): number => Number(Atomics.add(this.#counters, BODY_BYTES, BigInt(bytes))),
  };
}
