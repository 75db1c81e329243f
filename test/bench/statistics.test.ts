import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { median, medianOf, percentile, recall } from "../../bench/measure/statistics.mjs";

const values = fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { minLength: 1 });
const ascending = (a: number, b: number) => a - b;

describe("a percentile", () => {
  test("is the smallest value that the given share does not exceed", () => {
    fc.assert(
      fc.property(values, fc.double({ min: 0.001, max: 1, noNaN: true }), (some, share) => {
        const sorted = [...some].sort(ascending);
        const result = percentile(sorted, share);
        const within = sorted.filter((value) => value <= result).length;
        expect(within).toBeGreaterThanOrEqual(share * sorted.length - 1e-9);
        const below = sorted.filter((value) => value < result).length;
        expect(below).toBeLessThan(share * sorted.length + 1e-9);
      }),
    );
  });

  test("of few values is the maximum", () => {
    expect(percentile([1, 2, 3], 0.99)).toBe(3);
    expect(percentile([], 0.5)).toBeNaN();
  });
});

describe("a median", () => {
  test("has as many values above as below it, in any input order", () => {
    fc.assert(
      fc.property(values, (some) => {
        const middle = median(some);
        const below = some.filter((value) => value < middle).length;
        const above = some.filter((value) => value > middle).length;
        expect(Math.max(below, above)).toBeLessThanOrEqual(some.length / 2);
      }),
    );
  });

  test("ignores missing values", () => {
    expect(medianOf([undefined, 3, 1, undefined, 2])).toBe(2);
    expect(medianOf([undefined])).toBeUndefined();
  });
});

test("recall is the share of the expected rows that were returned", () => {
  expect(recall([[1, 2], [3]], [[2, 1], [4]])).toBeCloseTo(2 / 3);
  expect(recall([[1, 9, 2]], [[1, 2]])).toBe(1);
  expect(recall([[]], [[1]])).toBe(0);
});
