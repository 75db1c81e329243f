/** @import { Report, Result } from "../types.js" */
import { accessShares } from "../judge/access-shares.mjs";
import { judgeGoals } from "../judge/goals.mjs";
import { columns } from "./columns.mjs";
import { figure } from "./format.mjs";
import { htmlTable, hues, page } from "./page.mjs";
import { barChart, escaped, lineChart } from "./svg.mjs";
import { byScenario, summary } from "./text.mjs";

/** A report as an HTML page: a chart and a table for each scenario. @param {Report} report */
export function htmlReport(report) {
  const hueOf = (contender) =>
    Math.max(
      0,
      report.contenders.findIndex(({ title }) => title === contender),
    ) % hues;
  return page(`joust and others, ${report.when.slice(0, 10)}`, [
    `<p class="faint">${escaped(summary(report)).replaceAll("\n", "<br>")}</p>`,
    recallChart(report, hueOf),
    ...[...byScenario(report.results)].map(([title, results]) =>
      section(title, results, report, hueOf),
    ),
    goalTable(report),
    accessTable(report),
    builtTable(report),
    gapTable(report),
  ]);
}

/** Requests per second of each contender over recall. */
function recallChart({ results, contenders }, hueOf) {
  const vectors = results.filter(
    ({ recall, scenario }) => recall !== undefined && !/filter|batch/.test(scenario),
  );
  if (vectors.length === 0) return "";
  const clients = Math.max(...vectors.map((result) => result.clients));
  const series = contenders.map(({ title }) => {
    const all = vectors
      .filter((result) => result.contender === title && result.clients === clients)
      .map(({ recall, rate }) => /** @type {const} */ ([recall ?? 0, rate]))
      .sort(([a], [b]) => a - b);
    return { name: title, hue: hueOf(title), points: paretoFront(all), loose: all };
  });
  const chart = lineChart({
    series: series.filter(({ points }) => points.length > 0),
    x: "recall of the ten nearest; a line joins the Pareto-optimal points of a contender",
    y: `requests/s, ${clients} clients; higher and further right is better`,
    logY: true,
  });
  return `<h2>Vectors: speed and recall</h2>${chart}`;
}

/** The points that no other point beats in recall and speed. @param {readonly (readonly [number, number])[]} points by recall */
function paretoFront(points) {
  return points.filter(([, rate], i) => points.slice(i + 1).every(([, other]) => other < rate));
}

/** @param {string} title @param {readonly Result[]} results @param {Report} report */
function section(title, results, report, hueOf) {
  const timed = results.some(({ seconds }) => seconds !== undefined);
  const clients = [...new Set(results.map((result) => result.clients))];
  const charts = clients.map((number) => {
    const shown = results.filter((result) => result.clients === number);
    const bars = shown.map(({ contender, rate, seconds, recall, p99 }) => ({
      name: contender,
      value: timed ? (seconds ?? 0) : rate,
      hue: hueOf(contender),
      note: [
        ...(timed ? [] : [`p99 ${figure(p99)} ms`]),
        ...(recall === undefined ? [] : [`recall ${recall.toFixed(2)}`]),
      ].join(", "),
    }));
    const unit = timed
      ? "seconds, lower is better"
      : `requests/s, ${number} ${number === 1 ? "client" : "clients"}`;
    return `<p class="faint">${unit}</p>${barChart(bars)}`;
  });
  const heads = columns.map(({ head }) => ({
    head,
    words: head === "contender" || head === "notes",
  }));
  const rows = results.map((result) => columns.map(({ cell }) => cell(result, report)));
  return `<h2>${escaped(title)}</h2>${charts.join("")}${htmlTable(heads, rows)}`;
}

/** @param {Report} report */
function goalTable(report) {
  const goals = judgeGoals(report);
  if (goals.length === 0) return "";
  const heads = [{ head: "goal", words: true }, { head: "reached" }, { head: "" }];
  const rows = goals.map(({ goal, reached, met }) => [
    goal,
    figure(reached),
    met ? "met" : "missed",
  ]);
  return `<h2>Goals</h2>${htmlTable(heads, rows)}`;
}

/** @param {Report} report */
function accessTable(report) {
  const shares = accessShares(report);
  if (shares.length === 0) return "";
  const heads = [{ head: "part", words: true }, { head: "%" }, { head: "µs" }];
  const rows = shares.map(({ part, share, micros }) => [part, figure(share * 100), figure(micros)]);
  return `<h2>Processor time of access</h2>${htmlTable(heads, rows)}`;
}

/** @param {Report} report */
function builtTable({ built }) {
  if (built.length === 0) return "";
  const heads = [
    { head: "contender", words: true },
    { head: "step", words: true },
    { head: "seconds" },
  ];
  return `<h2>Build steps</h2>${htmlTable(
    heads,
    built.map(({ contender, step, seconds }) => [contender, step, figure(seconds)]),
  )}`;
}

/** @param {Report} report */
function gapTable({ gaps }) {
  if (gaps.length === 0) return "";
  const heads = ["contender", "scenario", "reason"].map((head) => ({ head, words: true }));
  const rows = gaps.map(({ contender, scenario, reason }) => [
    contender,
    scenario ?? "all",
    reason,
  ]);
  return `<h2>Not measured</h2>${htmlTable(heads, rows)}`;
}
