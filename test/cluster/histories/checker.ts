/**
 * Tells whether a history of concurrent operations on one object is linearizable: whether each operation can
 * have taken effect at one moment between its begin and its end, in an order in which all outputs are right.
 *
 * The search is Wing's and Gong's with Lowe's memoization, as in porcupine: it walks along the begins and ends
 * in the order of time, lets each operation that has begun take effect when its output fits, and goes back when
 * an end comes whose operation has not taken effect. Of all ways to one set of operations and one state only
 * the first is followed.
 */

/** A call of one client. */
export interface Operation<Input, Output> {
  readonly input: Input;
  /** Absent: nobody knows whether it took effect, nor when. It may take effect for ever. */
  readonly output?: Output;
  /** Any clock's time, the same for all operations. */
  readonly begun: number;
  readonly ended: number;
}

/** What an object does when one operation follows another. States and outputs are compared as JSON. */
export interface Model<State, Input, Output> {
  readonly initial: State;
  /** Every output that an operation may have in a state, and the state afterwards. */
  outcomes(state: State, input: Input): readonly (readonly [Output, State])[];
}

/** The operations in an order that explains the history; of one that has none, the longest that was found. */
export interface Verdict<Input, Output> {
  readonly linearizable: boolean;
  readonly order: readonly Operation<Input, Output>[];
}

/** Steps of a search beyond which it is given up. */
const MOST_STEPS = 5_000_000;

/** @throws when the search takes too long */
export function check<State, Input, Output>(
  model: Model<State, Input, Output>,
  history: readonly Operation<Input, Output>[],
): Verdict<Input, Output> {
  const timeline = new Timeline(history);
  const seen = new Set<string>();
  const taken: { entry: Entry; before: States<State> }[] = [];
  let longest: number[] = [];
  let states = new States([model.initial]);
  let effective = 0n;
  let entry = timeline.first;
  for (let steps = 0; entry !== undefined; steps++) {
    if (steps > MOST_STEPS)
      throw new Error("the search for an order of the history takes too long");
    const bit = 1n << BigInt(entry.operation);
    if (entry.kind === "begin") {
      const next = states.after(model, history[entry.operation] as Operation<Input, Output>);
      const place = `${effective | bit} ${next.key}`;
      if (next.isPossible && !seen.has(place)) {
        seen.add(place);
        taken.push({ entry, before: states });
        if (taken.length > longest.length) longest = taken.map((one) => one.entry.operation);
        states = next;
        effective |= bit;
        timeline.lift(entry);
        entry = timeline.first;
      } else {
        entry = entry.next;
      }
    } else {
      const last = taken.pop();
      if (!last) return { linearizable: false, order: inOrder(history, longest) };
      states = last.before;
      effective &= ~(1n << BigInt(last.entry.operation));
      timeline.put(last.entry);
      entry = last.entry.next;
    }
  }
  return { linearizable: true, order: inOrder(history, longest) };
}

const inOrder = <T>(history: readonly T[], order: readonly number[]): T[] =>
  order.map((index) => history[index] as T);

/** The states that an object may be in: several, where the outcome of an operation is not known. */
class States<State> {
  readonly key: string;

  constructor(private readonly all: readonly State[]) {
    this.key = all
      .map((state) => JSON.stringify(state))
      .sort()
      .join();
  }

  get isPossible(): boolean {
    return this.all.length > 0;
  }

  after<Input, Output>(
    model: Model<State, Input, Output>,
    { input, output }: Operation<Input, Output>,
  ): States<State> {
    const next = new Map<string, State>();
    const add = (state: State) => next.set(JSON.stringify(state), state);
    const wanted = JSON.stringify(output);
    for (const state of this.all) {
      // It may as well have done nothing.
      if (output === undefined) add(state);
      for (const [given, after] of model.outcomes(state, input)) {
        if (output === undefined || JSON.stringify(given) === wanted) add(after);
      }
    }
    return new States([...next.values()]);
  }
}

interface Entry {
  readonly kind: "begin" | "end";
  /** Its index in the history. */
  readonly operation: number;
  previous: Entry | undefined;
  next: Entry | undefined;
}

/** The begins and ends of operations that have not taken effect, in the order of time. */
class Timeline {
  first: Entry | undefined;
  readonly #ends: Entry[] = [];

  constructor(history: readonly Operation<unknown, unknown>[]) {
    const events = history.flatMap(({ begun, ended, output }, operation) => [
      { kind: "begin" as const, operation, time: begun },
      {
        kind: "end" as const,
        operation,
        time: output === undefined ? Number.POSITIVE_INFINITY : ended,
      },
    ]);
    // At one time begins come first: the operations may overlap.
    events.sort((a, b) => byTime(a.time, b.time) || (a.kind < b.kind ? -1 : 1));
    let last: Entry | undefined;
    for (const { kind, operation } of events) {
      const entry: Entry = { kind, operation, previous: last, next: undefined };
      if (last) last.next = entry;
      else this.first = entry;
      if (kind === "end") this.#ends[operation] = entry;
      last = entry;
    }
  }

  /** Takes an operation out. */
  lift(begin: Entry): void {
    for (const entry of [begin, this.#end(begin)]) {
      if (entry.previous) entry.previous.next = entry.next;
      else this.first = entry.next;
      if (entry.next) entry.next.previous = entry.previous;
    }
  }

  /** Puts the operation back that was taken out last. */
  put(begin: Entry): void {
    for (const entry of [this.#end(begin), begin]) {
      if (entry.previous) entry.previous.next = entry;
      else this.first = entry;
      if (entry.next) entry.next.previous = entry;
    }
  }

  #end({ operation }: Entry): Entry {
    return this.#ends[operation] as Entry;
  }
}

/** Also of two that never come, whose difference is no number. */
const byTime = (a: number, b: number): number => (a === b ? 0 : a < b ? -1 : 1);
