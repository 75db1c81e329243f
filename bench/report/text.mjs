/** @import { Report, Result } from "../types.js" */
import { accessShares } from "../judge/access-shares.mjs";
import { judgeGoals } from "../judge/goals.mjs";
import { columns } from "./columns.mjs";
import { count, figure, size } from "./format.mjs";

/** A report as text for a terminal. @param {Report} report */
export function textReport(report) {
  const lines = [summary(report), ""];
  for (const [title, results] of byScenario(report.results)) {
    lines.push(title, ...table(results, report), "");
  }
  lines.push(...goalLines(report), ...accessLines(report));
  if (report.built.length > 0) {
    lines.push("build steps");
    lines.push(
      ...report.built.map(
        ({ contender, step, seconds }) => `  ${contender}: ${step}, ${figure(seconds)} s`,
      ),
    );
    lines.push("");
  }
  if (report.gaps.length > 0) lines.push("not measured", ...report.gaps.map(gapLine), "");
  return lines.join("\n");
}

/** The data set, the machine and the load generator. @param {Report} report */
export function summary({ dataset, machine, loader, seconds }) {
  const { title, rows, dimensions, distance, bytes, sqlRows } = dataset;
  return [
    `${title}: ${count(rows)} rows, ${dimensions} dimensions, ${distance}, ${size(bytes)}`,
    ...(sqlRows === undefined ? [] : [`SQL: ${count(sqlRows)} rows without vectors, 1,000 groups`]),
    `${machine.processor}, ${machine.cores} cores, ${machine.system}, Node ${machine.node}`,
    `load: ${loader}, closed loop, on the same machine; ${count(seconds)} s in total`,
  ].join("\n");
}

/** @param {Report} report */
function goalLines(report) {
  const goals = judgeGoals(report);
  if (goals.length === 0) return [];
  const lines = goals.map(
    ({ goal, reached, met }) => `  ${met ? "met   " : "missed"}  ${goal}: ${figure(reached)}`,
  );
  return ["goals", ...lines, ""];
}

/** @param {Report} report */
function accessLines(report) {
  const lines = accessShares(report).map(
    ({ part, share, micros }) => `  ${part}: ${figure(share * 100)} %, ${figure(micros)} µs`,
  );
  return lines.length > 0 ? ["processor time of access", ...lines, ""] : [];
}

/** @param {import("../types.js").Gap} gap */
export function gapLine({ contender, scenario, reason }) {
  return `  ${contender}${scenario ? `, ${scenario}` : ""}: ${reason}`;
}

/** @param {readonly Result[]} results @returns {Map<string, Result[]>} */
export function byScenario(results) {
  const groups = new Map();
  for (const result of results) {
    groups.set(result.title, [...(groups.get(result.title) ?? []), result]);
  }
  return groups;
}

/** @param {readonly Result[]} results @param {Report} report */
function table(results, report) {
  const cells = [
    columns.map(({ head }) => head),
    ...results.map((result) => columns.map(({ cell }) => cell(result, report))),
  ];
  const widths = columns.map((_, i) => Math.max(...cells.map((row) => (row[i] ?? "").length)));
  return cells.map((row) =>
    `  ${row.map((cell, i) => (i === 1 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join("  ")}`.trimEnd(),
  );
}
