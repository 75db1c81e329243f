import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { accessShares } from "../../bench/judge/access-shares.mjs";
import { judgeGoals } from "../../bench/judge/goals.mjs";
import { Rounds } from "../../bench/measure/rounds.mjs";
import { htmlReport } from "../../bench/report/html.mjs";
import { seriesHtml, seriesText } from "../../bench/report/series.mjs";
import { textReport } from "../../bench/report/text.mjs";
import { writeReport } from "../../bench/report/write.mjs";
import { scenarios } from "../../bench/scenarios.mjs";
import type { Report, Result, Scenario } from "../../bench/types.js";
import { removeDir, tempDir } from "../harness/temp.js";

const scenario = (key: string) => scenarios.find((one) => one.key === key) as Scenario;

function rounds(key: string, contender: string, rates: number[], recall = 0.9): Result[] {
  const measured = new Rounds(scenario(key), scenario(key).clients?.[0] ?? 8);
  for (const rate of rates) {
    measured.add(contender, {
      rate,
      requests: rate * 2,
      p50: 8,
      p95: 9,
      p99: 10,
      failures: 1,
      loaderCpuSeconds: 0.5,
      cpuSeconds: 3,
      mainThreadSeconds: 1,
      residentBytes: 2 ** 30,
      rows: 10,
      recall,
    });
  }
  return measured.results();
}

function report(rows: number): Report {
  return {
    when: "2026-01-02T03:04:05.678Z",
    seconds: 60,
    machine: { processor: "a <fast> one", cores: 2, system: "Linux", node: "v20" },
    options: {},
    loader: "wrk",
    dataset: { title: "rows & more", rows, dimensions: 64, distance: "cosine", bytes: 2 ** 20 },
    contenders: [
      { key: "joust", title: "joust" },
      { key: "other", title: "other" },
    ],
    results: [
      ...rounds("vector-pq", "joust", [300, 100, 200]),
      ...rounds("vector-pq", "other", [50]),
    ],
    gaps: [{ contender: "absent one", reason: "it is not installed" }],
    built: [{ contender: "joust", step: "ingest bench", seconds: 1.5 }],
    disk: [{ contender: "joust", bytes: 2 ** 21 }],
  };
}

test("a result is the median of its rounds", () => {
  const [result] = rounds("vector-pq", "joust", [300, 100, 200]);
  expect(result).toMatchObject({
    rate: 200,
    rates: [100, 300],
    rounds: 3,
    failures: 3,
    cpuSecondsPer1000: 7.5,
    recall: 0.9,
    loaderCpu: 0.25,
  });
});

test("the table shows every result, its ratio to joust and the absent contenders", () => {
  const text = textReport(report(100_000));
  expect(text).toMatch(
    /8 +joust +200 +100 to 300 +8 +9 +10 +7.5 +50 % +1 GiB +0.900 +10 +1 +3 FAILED/,
  );
  expect(text).toMatch(/8 +other +50 +8 +9 +10 +30 +50 % +1 GiB +0.900 +10 +0.25 +1 FAILED/);
  expect(text).toContain("absent one: it is not installed");
  expect(text).toContain("100,000 rows");
});

test("goals are judged only where both contenders were measured", () => {
  const contenders = [
    { key: "joust", title: "joust" },
    { key: "lance", title: "Lance" },
    { key: "chroma", title: "Chroma" },
  ];
  const results = [
    ...rounds("vector-pq", "joust", [300]),
    ...rounds("vector-pq", "Lance", [100]),
    ...rounds("text", "joust", [300]),
    ...rounds("text", "Lance", [100]),
    ...rounds("vector-graph-64", "joust", [400], 0.981),
    ...rounds("vector-graph-256", "joust", [200], 0.999),
    ...rounds("vector-graph-32", "Chroma", [500], 0.9),
    ...rounds("vector-graph-64", "Chroma", [100], 0.984),
  ];
  const judged = judgeGoals({ ...report(1), contenders, results });
  expect(judged.map(({ goal, reached, met }) => [goal, reached, met])).toEqual([
    ["vector-pq: 2 times Lance", 3, true],
    ["text: 8 times Lance", 3, false],
    ["recall of at least 0.979 (vector-graph-64 to vector-graph-64): 1.5 times Chroma", 4, true],
    ["vector-pq: p99 within 5 times p50", 1.25, true],
    ["text: p99 within 5 times p50", 1.25, true],
    ["vector-graph-64: p99 within 5 times p50", 1.25, true],
    ["vector-graph-256: p99 within 5 times p50", 1.25, true],
  ]);
});

test("write goals are judged at their own client counts, by rate and by ratio", () => {
  const contenders = [
    { key: "joust", title: "joust" },
    { key: "lance", title: "Lance" },
    { key: "rest-adapter", title: "the adapter" },
  ];
  const results = [
    ...rounds("insert-1", "joust", [149]),
    ...rounds("insert-64", "joust", [5000]),
    ...rounds("insert-64", "the adapter", [100]),
    ...rounds("ingest", "joust", [3]),
    ...rounds("ingest", "Lance", [4]),
  ];
  const judged = judgeGoals({ ...report(1), contenders, results });
  const ofWrites = judged.filter(({ goal }) => !goal.includes("p99"));
  expect(ofWrites.map(({ goal, reached, met }) => [goal, reached, met])).toEqual([
    ["insert-64: 50 times the adapter", 50, true],
    ["ingest: 0.8 times Lance", 0.75, false],
    ["insert-1: 150 requests/s", 149, false],
    ["insert-64: 5000 requests/s", 5000, true],
  ]);
});

test("a report has the processor time of authentication and of authorization, each for itself", () => {
  const titles = ["joust", "joust-read", "joust-granted"].map((key) => ({
    key,
    title: `a ${key}`,
  }));
  const times = [0.17, 0.172, 0.175];
  const results = titles.flatMap(({ title }, at) =>
    rounds("points", title, [100]).map((one) => ({ ...one, cpuSecondsPer1000: times[at] ?? 0 })),
  );
  const measured = { ...report(1), contenders: titles, results };
  const shares = accessShares(measured);
  expect(shares.map(({ part }) => part)).toEqual([
    "points, 8 clients: authentication by a stored key",
    "points, 8 clients: authorization by grants",
  ]);
  expect(shares[0]?.share).toBeCloseTo(0.002 / 0.172);
  expect(shares[1]?.micros).toBeCloseTo(3);
  const line = "points, 8 clients: authorization by grants: 1.71 %, 3 µs";
  expect(textReport(measured)).toContain(line);
  expect(htmlReport(measured)).toContain("<h2>Processor time of access</h2>");
  const withoutRead = results.filter(({ contender }) => contender !== "a joust-read");
  expect(accessShares({ ...measured, results: withoutRead })).toEqual([]);
});

test("the HTML page loads no external resource and escapes names", () => {
  const html = htmlReport(report(100_000));
  expect(html).toContain("<svg");
  expect(html).toContain("a &lt;fast&gt; one");
  expect(html).toContain("rows &amp; more");
  expect(html).toContain("absent one");
  expect(html).not.toMatch(/(src|href)=|https?:|@import|NaN|undefined|Infinity/);
});

test("a series is drawn over the value that grows", () => {
  const steps = [100_000, 1_000_000].map((rows) => ({ at: rows, report: report(rows) }));
  const rows = { when: report(1).when, grows: "rows" as const, steps };
  const html = seriesHtml(rows);
  for (const title of ["Build time", "Latency", "Memory", "Disk", "Recall"]) {
    expect(html).toContain(`<h2>${title}</h2><svg`);
  }
  const cores = { ...rows, grows: "cores" as const, steps: [{ at: 1, report: report(9) }] };
  expect(seriesHtml(cores)).toContain("<h2>Main thread</h2><svg");
  for (const page of [html, seriesHtml(cores)]) expect(page).not.toMatch(/NaN|undefined|Infinity/);
  expect(seriesText(rows)).toContain("== 1,000,000 rows");
  expect(seriesText(cores)).toContain("== 1 cores");
});

test("a report is written as JSON and as HTML", () => {
  const out = join(tempDir("bench"), "results");
  try {
    const written = writeReport({
      when: report(1).when,
      out,
      kind: "quick",
      report: report(1),
      html: "<p>",
    });
    expect(written).toEqual([
      join(out, "2026-01-02-030405-quick.json"),
      join(out, "2026-01-02-030405-quick.html"),
    ]);
    expect(JSON.parse(readFileSync(written[0] as string, "utf8"))).toEqual(report(1));
  } finally {
    removeDir(out);
  }
});
