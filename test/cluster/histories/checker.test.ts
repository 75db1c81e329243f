import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { check, type Model, type Operation } from "./checker.js";

type Input = { put: number } | "get" | { add: number };
type Output = number | "ok";
type Call = Operation<Input, Output>;

const register: Model<number, Input, Output> = {
  initial: 0,
  outcomes(state, input) {
    if (input === "get") return [[state, state]];
    return "put" in input ? [["ok", input.put]] : [["ok", state + input.add]];
  },
};

/** `begun` and `ended` are timestamps. */
const call = (begun: number, ended: number, input: Input, output?: Output): Call => ({
  begun,
  ended,
  input,
  ...(output !== undefined && { output }),
});
const put = (begun: number, ended: number, value: number) =>
  call(begun, ended, { put: value }, "ok");
const get = (begun: number, ended: number, value: number) => call(begun, ended, "get", value);
const isLinearizable = (...history: Call[]) => check(register, history).linearizable;

describe("the checker accepts a history", () => {
  it.each<[string, Call[]]>([
    ["nothing happens", []],
    ["each operation sees the one before", [put(0, 1, 5), get(2, 3, 5)]],
    ["a read overlaps a write and sees the former value", [put(0, 9, 5), get(1, 2, 0)]],
    ["a read overlaps a write and sees it", [put(0, 9, 5), get(1, 2, 5)]],
    [
      "two reads overlap a write, and only the second one sees it",
      [put(0, 9, 5), get(1, 2, 0), get(3, 4, 5)],
    ],
    [
      "overlapping writes take effect in the order of later reads",
      [put(0, 9, 1), put(0, 9, 2), get(1, 2, 2), get(3, 4, 1)],
    ],
    ["an operation begins when another one ends", [put(0, 1, 5), get(1, 2, 0)]],
    [
      "an operation without a response takes effect late",
      [call(0, 1, { put: 5 }), get(2, 3, 0), get(4, 5, 5)],
    ],
    ["an operation without a response has no effect", [call(0, 1, { put: 5 }), get(2, 9, 0)]],
    [
      "many overlapping operations have a valid order",
      [
        ...Array.from({ length: 12 }, (_, n) => call(0, 99, { add: 2 ** n }, "ok")),
        get(1, 98, 2049),
      ],
    ],
  ])("if %s", (_, history) => {
    expect(isLinearizable(...history)).toBe(true);
  });
});

describe("the checker rejects a history", () => {
  it.each<[string, Call[]]>([
    ["a read misses a write that has ended", [put(0, 1, 5), get(2, 3, 0)]],
    ["a read sees a value that was never written", [put(0, 9, 5), get(1, 2, 6)]],
    ["a read sees a write that has not begun", [get(0, 1, 5), put(2, 3, 5)]],
    ["a read sees an older value than an earlier read", [put(0, 9, 5), get(1, 2, 5), get(3, 4, 0)]],
    ["an overwritten value reappears", [put(0, 1, 1), put(2, 3, 2), get(4, 5, 2), get(6, 7, 1)]],
    [
      "two readers see overlapping writes in different orders",
      [put(0, 20, 1), put(0, 20, 2), get(1, 2, 1), get(3, 4, 2), get(5, 6, 1)],
    ],
    [
      "an operation without a response takes effect and is undone",
      [call(0, 1, { put: 5 }), get(2, 3, 5), get(4, 5, 0)],
    ],
    [
      "an operation without a response takes effect before it begins",
      [get(0, 1, 5), call(2, 3, { put: 5 })],
    ],
    [
      "one of two counted operations is lost",
      [call(0, 9, { add: 1 }, "ok"), call(0, 9, { add: 1 }, "ok"), get(10, 11, 1)],
    ],
  ])("because %s", (_, history) => {
    expect(isLinearizable(...history)).toBe(false);
  });

  it("and reports the longest linearizable order", () => {
    const history = [put(0, 1, 5), get(2, 3, 5), get(4, 5, 0)];
    expect(check(register, history)).toEqual({
      linearizable: false,
      order: [history[0], history[1]],
    });
  });
});

/** Tries every order of a few operations. */
function bruteForce(history: readonly Call[], state = 0): boolean {
  if (history.length === 0) return true;
  const firstEnd = Math.min(...history.map(({ ended }) => ended));
  return history.some((one, index) => {
    if (one.begun > firstEnd) return false;
    const [given, after] = register.outcomes(state, one.input)[0] as readonly [Output, number];
    return given === one.output && bruteForce(history.toSpliced(index, 1), after);
  });
}

it("the checker agrees with a brute-force search on short histories", () => {
  const operation = fc
    .tuple(fc.nat(12), fc.nat(6), fc.oneof(fc.nat(2), fc.constant(undefined)), fc.nat(2))
    .map(([begun, length, written, seen]) =>
      written === undefined
        ? get(begun, begun + length, seen)
        : put(begun, begun + length, written),
    );
  const verdicts = { true: 0, false: 0 };
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 6 }), (history) => {
      const expected = bruteForce(history);
      verdicts[`${expected}`]++;
      expect(isLinearizable(...history)).toBe(expected);
    }),
    { numRuns: 3_000, seed: 1 },
  );
  expect(Math.min(verdicts.true, verdicts.false)).toBeGreaterThan(100);
});
