export interface InFlightEntry {
  /** Index in the set; `notInFlight` outside of it. Only `InFlightSet` writes it. */
  position: number;
}

/** The position of an entry that is not in the set. */
export const notInFlight = -1;

/**
 * The set of the requests in flight.
 *
 * A `Set` allocates a new hash table after enough inserts and deletes, and the former table references its
 * entries and the new table. Once V8 has promoted a table to the old generation, the table keeps all later
 * ones alive until a major collection, even if it is garbage. So V8 promoted nearly every request, which
 * costs several times as much as collecting it in the young generation.
 */
export class InFlightSet<T extends InFlightEntry> {
  readonly #entries: T[] = [];

  get size(): number {
    return this.#entries.length;
  }

  /** Does nothing if the entry is already in the set. */
  add(entry: T): void {
    if (entry.position !== notInFlight) return;
    entry.position = this.#entries.push(entry) - 1;
  }

  /** Does nothing if the entry is not in the set. */
  delete(entry: T): void {
    const { position } = entry;
    if (position === notInFlight) return;
    const last = this.#entries.pop() as T;
    if (last !== entry) {
      this.#entries[position] = last;
      last.position = position;
    }
    entry.position = notInFlight;
  }

  /** A copy of the entries: later changes of the set do not affect it. */
  all(): T[] {
    return [...this.#entries];
  }
}
