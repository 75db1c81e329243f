const CATALOG = 0;
const WARMING = 1;
const WORDS = 2;
const BODIES = 0;

/** Numbers that all threads of the process see and change at once. */
export class SharedState {
  readonly #words: Int32Array;
  readonly #bytes: BigInt64Array;

  /** `buffer`: another thread's. */
  constructor(readonly buffer: SharedArrayBuffer = new SharedArrayBuffer(WORDS * 4 + 8)) {
    this.#words = new Int32Array(buffer, 0, WORDS);
    this.#bytes = new BigInt64Array(buffer, WORDS * 4, 1);
  }

  /** Of the catalog: another number after each commit of this process. */
  readonly epoch = {
    current: (): number => Atomics.load(this.#words, CATALOG),
    raise: (): void => void Atomics.add(this.#words, CATALOG, 1),
  };

  /** Tables that were named at the start are still being loaded. */
  readonly warming = {
    get: (): boolean => Atomics.load(this.#words, WARMING) !== 0,
    set: (warming: boolean): void => void Atomics.store(this.#words, WARMING, warming ? 1 : 0),
  };

  /** Bytes of collected bodies in memory. */
  readonly bodyBytes = {
    /** Gives back how many there were before. */
    add: (bytes: number): number => Number(Atomics.add(this.#bytes, BODIES, BigInt(bytes))),
  };
}
