/** A member's place among those in flight; whoever is none has none. */
export interface Flying {
  /** Written by `InFlight` alone. */
  place: number;
}

/** The place of who is not in flight. */
export const grounded = -1;

/**
 * What is in flight: a set that each request joins and leaves.
 *
 * A `Set` makes a new table whenever enough members have come and gone, and the old one holds its members
 * and the new one. Once the garbage collector has moved a dead one to the old objects, all that follow are
 * alive to it until it looks at those: nearly every request was moved there, a few times the work of
 * collecting it at once.
 */
export class InFlight<T extends Flying> {
  readonly #members: T[] = [];

  get size(): number {
    return this.#members.length;
  }

  /** Does nothing when it is in flight already. */
  add(member: T): void {
    if (member.place !== grounded) return;
    member.place = this.#members.push(member) - 1;
  }

  /** Does nothing when it is not in flight. */
  delete(member: T): void {
    const { place } = member;
    if (place === grounded) return;
    const last = this.#members.pop() as T;
    if (last !== member) {
      this.#members[place] = last;
      last.place = place;
    }
    member.place = grounded;
  }

  /** All that are in flight now: who joins or leaves meanwhile changes nothing. */
  all(): T[] {
    return [...this.#members];
  }
}
