import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stream, type } from "../../../harness/arrow.js";
import { setupServer } from "../../../harness/setup-server.js";
import { sqlClient } from "./sql-client.js";

const joust = setupServer();
const { rows } = sqlClient(joust);

type Maybe = number | null;
interface Row {
  k: Maybe;
  v: Maybe;
}

const maybe = fc.option(fc.integer({ min: -5, max: 5 }), { nil: null });
const table = fc.array(fc.record({ k: maybe, v: maybe }), { maxLength: 30 });

/** SQL's sort order of small rows, for comparing results. */
const sorted = <T>(values: T[]): T[] =>
  [...values].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

const known = (values: Maybe[]): number[] => values.filter((value) => value !== null);
const sum = (values: number[]): Maybe =>
  values.length === 0 ? null : values.reduce((all, value) => all + value, 0);

function grouped(from: Row[]) {
  const groups = new Map<Maybe, Row[]>();
  for (const row of from) groups.set(row.k, [...(groups.get(row.k) ?? []), row]);
  return [...groups].map(([k, members]) => {
    const values = known(members.map(({ v }) => v));
    return {
      k,
      n: members.length,
      vs: values.length,
      ds: new Set(values).size,
      s: sum(values),
      lo: values.length === 0 ? null : Math.min(...values),
      hi: values.length === 0 ? null : Math.max(...values),
    };
  });
}

/** The expected result of each statement, computed here. */
const model: Record<string, (a: Row[], b: Row[]) => object[]> = {
  "SELECT k, count(*) AS n, count(v) AS vs, count(DISTINCT v) AS ds, sum(v) AS s, min(v) AS lo, max(v) AS hi FROM a GROUP BY k":
    grouped,
  "SELECT count(*) AS n, sum(v) AS s FROM a WHERE v > 0 OR k IS NULL": (a) => {
    const left = a.filter(({ k, v }) => (v !== null && v > 0) || k === null);
    return [{ n: left.length, s: sum(known(left.map(({ v }) => v))) }];
  },
  "SELECT a.k AS k, a.v AS x, b.v AS y FROM a JOIN b ON a.k = b.k": (a, b) =>
    a.flatMap((one) =>
      b
        .filter((other) => one.k !== null && one.k === other.k)
        .map((other) => ({ k: one.k, x: one.v, y: other.v })),
    ),
  "SELECT a.k AS k, a.v AS x, b.v AS y FROM a LEFT JOIN b ON a.k = b.k AND b.v < a.v": (a, b) =>
    a.flatMap((one) => {
      const matches = b.filter(
        (other) =>
          one.k !== null &&
          one.k === other.k &&
          other.v !== null &&
          one.v !== null &&
          other.v < one.v,
      );
      const others: { v: Maybe }[] = matches.length > 0 ? matches : [{ v: null }];
      return others.map((other) => ({ k: one.k, x: one.v, y: other.v }));
    }),
  "SELECT v FROM a UNION SELECT v FROM b": (a, b) =>
    [...new Set([...a, ...b].map(({ v }) => v))].map((v) => ({ v })),
  "SELECT k, v FROM a WHERE v IN (SELECT v FROM b)": (a, b) => {
    const values = new Set(known(b.map(({ v }) => v)));
    return a.filter(({ v }) => v !== null && values.has(v)).map(({ k, v }) => ({ k, v }));
  },
  "SELECT k, v, rank() OVER (PARTITION BY k ORDER BY v NULLS LAST) AS r FROM a": (a) =>
    a.map(({ k, v }) => {
      const less = a.filter(
        (other) => other.k === k && other.v !== null && (v === null || other.v < v),
      );
      return { k, v, r: less.length + 1 };
    }),
};

describe("SQL results over random tables", () => {
  it("equal a simple evaluation", async () => {
    const numbers = (values: Maybe[]) =>
      [type.i64, values.map((value) => (value === null ? null : BigInt(value)))] as const;
    const put = (name: string, content: Row[]) =>
      joust.client.createTable(
        name,
        stream({ k: numbers(content.map(({ k }) => k)), v: numbers(content.map(({ v }) => v)) }),
        { mode: "overwrite" },
      );
    await fc.assert(
      fc.asyncProperty(table, table, async (a, b) => {
        await Promise.all([put("a", a), put("b", b)]);
        for (const [query, expected] of Object.entries(model)) {
          expect({ query, rows: sorted(await rows(query)) }).toEqual({
            query,
            rows: sorted(expected(a, b)),
          });
        }
      }),
      { numRuns: 25 },
    );
  }, 120_000);
});
