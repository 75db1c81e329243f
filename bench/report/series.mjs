/** @import { Report, SeriesReport } from "../types.js" */
import { count } from "./format.mjs";
import { hues, page } from "./page.mjs";
import { escaped, lineChart } from "./svg.mjs";
import { summary, textReport } from "./text.mjs";

/** @param {SeriesReport} report */
export function seriesText({ grows, steps }) {
  return steps
    .map(({ at, report }) => `== ${count(at)} ${grows}\n${textReport(report)}`)
    .join("\n");
}

/** A page with a chart of each quantity over the rows or cores. @param {SeriesReport} report */
export function seriesHtml({ when, grows, steps }) {
  const always = {
    "Requests per second": { y: "requests/s", values: rates },
    Latency: { y: "p50, ms", values: latencies },
  };
  const ofRows = {
    "Build time": { y: "seconds", values: buildSeconds },
    ...always,
    Memory: { y: "resident, MiB, maximum of all scenarios", values: memory },
    Disk: {
      y: "MiB of the tables with all indexes, and of the rows as an Arrow stream",
      values: disk,
    },
    Recall: { y: "recall of the ten nearest", values: recalls, linear: true },
  };
  const ofCores = {
    ...always,
    "Main thread": { y: "share of one core", values: mainThread, linear: true },
  };
  const [first] = steps;
  return page(`joust by number of ${grows}, ${when.slice(0, 10)}`, [
    `<p class="faint">${first ? escaped(summary(first.report)).replaceAll("\n", "<br>") : ""}</p>`,
    ...Object.entries(grows === "rows" ? ofRows : ofCores).map(
      ([title, { y, values, ...form }]) =>
        `<h2>${title}</h2>${chart({ grows, steps }, y, values, form)}`,
    ),
  ]);
}

/**
 * @param {Pick<SeriesReport, "grows" | "steps">} series
 * @param {string} y
 * @param {(report: Report) => Record<string, number>} values by the name of a line
 * @param {{ linear?: boolean }} form
 */
function chart({ grows, steps }, y, values, { linear = false }) {
  /** @type {Map<string, [number, number][]>} */
  const lines = new Map();
  for (const { at, report } of steps) {
    for (const [name, value] of Object.entries(values(report))) {
      lines.set(name, [...(lines.get(name) ?? []), [at, value]]);
    }
  }
  // One color per scenario. The lines of all contenders after the first are dashed.
  const subjects = [...new Set([...lines.keys()].map(subject))];
  /** @type {Set<string>} */
  const seen = new Set();
  const series = [...lines].map(([name, points]) => {
    const dashed = seen.has(subject(name));
    seen.add(subject(name));
    return { name, hue: subjects.indexOf(subject(name)) % hues, points, dashed };
  });
  return lineChart({ series, x: grows, y, logX: grows === "rows", logY: !linear });
}

/** The scenario of `scenario, contender`. @param {string} name */
const subject = (name) => name.split(", ", 1)[0] ?? name;

/** The sum of the steps with the same name, one for each table. @param {Report} report */
function buildSeconds({ built }) {
  /** @type {Record<string, number>} */
  const sums = {};
  for (const { contender, step, seconds } of built) {
    const name = `${contender}: ${step}`;
    sums[name] = (sums[name] ?? 0) + seconds;
  }
  return sums;
}

/** @param {(result: import("../types.js").Result) => number | undefined} value */
const byResult =
  (value) =>
  (/** @type {Report} */ { results }) =>
    Object.fromEntries(
      results.flatMap((result) => {
        const y = value(result);
        return y === undefined ? [] : [[`${result.scenario}, ${result.contender}`, y]];
      }),
    );

const latencies = byResult(({ p50 }) => p50);
const rates = byResult(({ rate }) => rate);
const recalls = byResult(({ recall }) => recall);
const mainThread = byResult(({ mainThreadCpu }) => mainThreadCpu);

/** @param {Report} report */
function memory({ results, contenders }) {
  return Object.fromEntries(
    contenders.flatMap(({ title }) => {
      const measured = results.filter(({ contender }) => contender === title);
      const most = Math.max(0, ...measured.map(({ residentBytes = 0 }) => residentBytes));
      return most > 0 ? [[title, most / 2 ** 20]] : [];
    }),
  );
}

/** @param {Report} report */
function disk({ disk: tables, dataset }) {
  const entries = tables.map(({ contender, bytes }) => [contender, bytes / 2 ** 20]);
  return Object.fromEntries([...entries, ["the rows", dataset.bytes / 2 ** 20]]);
}
