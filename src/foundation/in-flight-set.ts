export interface InFlightEntry {
  /** Its place among those in flight, `grounded` while it is not. Written by `InFlight` alone. */
  position: number;
}

/** The place of what is not in flight. */
export const notInFlight = -1;

/**
 * What is in flight: a set that each request joins and leaves.
 *
 * A `Set` makes a new table whenever enough members have come and gone, and the old one holds its members
 * and the new one. Once a table has been moved to the old objects it keeps all that follow it alive, even
 * when it is dead itself, until the old objects are collected too. So nearly every request was moved there,
 * which is several times the work of collecting it young.
 */
export class InFlightSet<T extends InFlightEntry> {
  readonly #members: T[] = [];

  get size(): number {
    return this.#members.length;
  }

  /** Does nothing when it is in flight already. */
  add(member: T): void {
    if (member.position !== notInFlight) return;
    member.position = this.#members.push(member) - 1;
  }

  /** Does nothing when it is not in flight. */
  delete(member: T): void {
    const { position } = member;
    if (position === notInFlight) return;
    const last = this.#members.pop() as T;
    if (last !== member) {
      this.#members[position] = last;
      last.position = position;
    }
    member.position = notInFlight;
  }

  /** All that are in flight now: who joins or leaves meanwhile changes nothing. */
  all(): T[] {
    return [...this.#members];
  }
}
