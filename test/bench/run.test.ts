import { expect, test } from "vitest";
import { parseArguments } from "../../bench/arguments.mjs";
import { runBench } from "../../bench/run.mjs";

/** Each kind of request once, on a table so small that the run takes seconds. */
const keys = [
  "vector-pq-high",
  "vector-batch",
  "vector-flat",
  "hybrid",
  "filter",
  "points",
  "points-beside-filters",
  "points-beside-deletes",
  "count-filter",
  "describe",
  "insert-8",
  "ingest",
  "download",
  "cold",
  "first",
  "second",
  "first-prewarmed",
  "second-prewarmed",
  "sql-point",
  "sql-aggregate",
  "sql-join",
  "sql-result",
];

test("the benchmark suite measures the real server", async () => {
  const args = [
    "--quick",
    "--rows=600",
    "--sql-rows=20000",
    "--dimensions=16",
    "--clients=2",
    "--contenders=joust",
  ];
  const lines: string[] = [];
  const report = await runBench(parseArguments([...args, ...keys]), (line) => lines.push(line));

  expect(report.gaps).toEqual([]);
  expect(report.results.map(({ scenario }) => scenario)).toEqual(keys);
  expect(report.results.filter(({ failures }) => failures > 0)).toEqual([]);
  expect(report.contenders).toEqual([{ key: "joust", title: "joust" }]);
  for (const result of report.results) {
    expect(result, result.scenario).toMatchObject({ contender: "joust" });
    expect(result.rate, result.scenario).toBeGreaterThan(0);
    expect(result.p99, result.scenario).toBeGreaterThanOrEqual(result.p50);
    expect(result.rows, result.scenario).toBeGreaterThan(0);
  }
  const recallOf = (key: string) => report.results.find(({ scenario }) => scenario === key)?.recall;
  expect(recallOf("vector-flat")).toBe(1);
  expect(recallOf("vector-pq-high")).toBeGreaterThan(0.9);
  expect(recallOf("hybrid")).toBeUndefined();
  expect(report.built.map(({ step }) => step)).toContain("IVF_PQ index of vector");
  expect(report.disk[0]?.bytes).toBeGreaterThan(report.dataset.bytes);
  expect(lines[0]).toBe("generated, seed 1: 600 rows of 16 dimensions");
}, 120_000);
