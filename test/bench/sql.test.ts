import { readFileSync } from "node:fs";
import { tableFromIPC } from "apache-arrow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { contenders } from "../../bench/contenders/all.mjs";
import { makeRelational } from "../../bench/data/relational.mjs";
import { runs, tablesOf } from "../../bench/data/tables.mjs";
import { judgeCopies, judgeSql } from "../../bench/judge/sql.mjs";
import { scenarios } from "../../bench/scenarios.mjs";
import type { Contender, Dataset, Operation, Relational } from "../../bench/types.js";
import { removeDir, tempDir } from "../harness/temp.js";

const ROWS = 10_000;
let folder: string;
let relational: Relational;
beforeAll(async () => {
  folder = tempDir("bench-sql");
  relational = await makeRelational({ rows: ROWS, seed: 1 }, folder);
});
afterAll(() => removeDir(folder));

const read = (file: string) => tableFromIPC(readFileSync(file));
const contender = (key: string) => contenders.find((one) => one.key === key) as Contender;

describe("the tables of the SQL scenarios", () => {
  it("have the totals that the answers are compared with", () => {
    const totals = new Map<string, [number, number]>();
    for (const row of read(relational.files.bench_rows)) {
      const [rows, sum] = totals.get(row.label) ?? [0, 0];
      totals.set(row.label, [rows + 1, sum + Number(row.number)]);
      expect(row.text).toBe(relational.textOf(Number(row.id)));
    }
    expect(new Map(relational.byLabel.map(([key, ...total]) => [key, total]))).toEqual(totals);
    expect(relational.byLabel.map(([key]) => key)).toEqual([...totals.keys()].sort());
    const joined = relational.byRegion.reduce((sum, [, rows]) => sum + rows, 0);
    expect(joined).toBe(ROWS);
    expect(read(relational.files.bench_groups).numRows).toBe(1_000);
  });

  it("are those of contenders that run SQL", () => {
    expect(tablesOf(scenarios, contender("duckdb-lance"))).toEqual(["bench_rows", "bench_groups"]);
    expect(tablesOf(scenarios, contender("lance"))).not.toContain("bench_rows");
    expect(tablesOf(scenarios, contender("joust"))).toHaveLength(5);
    for (const scenario of scenarios) {
      expect(runs(contender("joust"), scenario)).toBe(scenario.group !== "functions");
      expect(runs(contender("duckdb-parquet"), scenario)).toBe(scenario.group === "sql");
      const isSearch = !["sql", "functions"].includes(scenario.group);
      expect(runs(contender("chroma"), scenario)).toBe(isSearch);
    }
  });
});

it("a large result with a missing or repeated row is rejected", () => {
  const dataset = { relational: { rows: 4 } } as Dataset;
  const judge = (rows: number, sum: number) =>
    judgeCopies(2)([{ rows, ids: [], sum }], [], dataset);
  expect(judge(8, 12)).toEqual({ rows: 8 });
  expect(() => judge(7, 12)).toThrow(/7 rows/);
  expect(() => judge(8, 11)).toThrow(/sum 11 instead of 8 with 12/);
});

it("an SQL answer with a wrong value or another order of rows is rejected", () => {
  const expected = [
    ["a", 1],
    ["b", 2],
  ];
  const operation: Operation = { kind: "sql", text: "SELECT", expected };
  const judge = (values: (string | number)[][]) =>
    judgeSql([{ rows: values.length, ids: [], values }], [operation], {} as Dataset);
  expect(judge(expected)).toEqual({ rows: 2 });
  expect(() => judge([["a", 1]])).toThrow(/SELECT answered .* instead of/);
  expect(() => judge([...expected].reverse())).toThrow(/instead of/);
  expect(() => judgeSql([{ rows: 2, ids: [] }], [operation], {} as Dataset)).toThrow(/instead of/);
});
