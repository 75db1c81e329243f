/**
 * Checks whether a history of concurrent operations on one object is linearizable: each operation takes effect
 * at one moment between its begin and its end, in an order in which all outputs are correct.
 *
 * The search is that of Wing and Gong with Lowe's memoization, as in porcupine. It follows the begins and ends
 * in time order, applies each begun operation whose output fits, and backtracks at an end whose operation has
 * not been applied. It visits each pair of a set of applied operations and a state once.
 */

/** A call of one client. */
export interface Operation<Input, Output> {
  readonly input: Input;
  /** Absent: the outcome is unknown. The operation may take effect at any later time or never. */
  readonly output?: Output;
  /** Timestamps of one clock for all operations. */
  readonly begun: number;
  readonly ended: number;
}

/** A sequential model of an object. States and outputs are compared as JSON. */
export interface Model<State, Input, Output> {
  readonly initial: State;
  /** Every output that an operation may have in a state, with the next state. */
  outcomes(state: State, input: Input): readonly (readonly [Output, State])[];
}

/** An order of the operations that explains the history, or else the longest partial order. */
export interface Verdict<Input, Output> {
  readonly linearizable: boolean;
  readonly order: readonly Operation<Input, Output>[];
}

/** Limit of search steps. */
const MOST_STEPS = 5_000_000;

/** @throws if the search exceeds the limit */
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

/** The possible states of the object: several if the outcome of an operation is unknown. */
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
      // The operation may have had no effect.
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

/** Begins and ends of pending operations in time order. */
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
    // At equal times begins sort first: the operations may overlap.
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

  /** Removes an operation. */
  lift(begin: Entry): void {
    for (const entry of [begin, this.#end(begin)]) {
      if (entry.previous) entry.previous.next = entry.next;
      else this.first = entry.next;
      if (entry.next) entry.next.previous = entry.previous;
    }
  }

  /** Restores the operation that was removed last. */
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

/** Handles two infinite times, whose difference is NaN. */
const byTime = (a: number, b: number): number => (a === b ? 0 : a < b ? -1 : 1);
