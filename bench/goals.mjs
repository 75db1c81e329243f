/** @import { Report, Result } from "./types.js" */

/**
 * How many times as fast as another joust means to be.
 *
 * @typedef {object} Goal
 * @property {string} scenario
 * @property {string} contender
 * @property {number} least
 */

/** @type {readonly Goal[]} */
const GOALS = [
  { scenario: "vector-pq", contender: "lance", least: 2 },
  { scenario: "vector-pq", contender: "rest-adapter-session", least: 2.5 },
  { scenario: "vector-pq", contender: "rest-adapter", least: 8 },
  { scenario: "vector-flat", contender: "lance", least: 3 },
  { scenario: "text", contender: "lance", least: 8 },
  { scenario: "text", contender: "rest-adapter-session", least: 10 },
  { scenario: "filter", contender: "lance", least: 2 },
  { scenario: "points", contender: "lance", least: 10 },
  { scenario: "count", contender: "rest-adapter-session", least: 2 },
  { scenario: "describe", contender: "rest-adapter-session", least: 2 },
];
/** The same among searches that find nearly all: who is compared by the fastest that finds so much. */
const GOOD_RECALL = 0.95;
const GOALS_AT_GOOD_RECALL = [
  { contender: "chroma", least: 1.5 },
  { contender: "lance", least: 6, scenario: "vector-pq-high" },
];
/** How far the slowest hundredth may lie above the middle, in any scenario under load. */
const MOST_SPREAD = 5;
/** Recalls that differ by less are the same. */
const SAME_RECALL = 0.005;

/**
 * What was aimed at and what was reached, of the most clients that were measured.
 *
 * @param {Report} report
 * @returns {{ goal: string, reached: number, met: boolean }[]}
 */
export function judgeGoals(report) {
  const clients = Math.max(...report.results.map((result) => result.clients).filter((n) => n <= 8));
  const results = report.results.filter((result) => result.clients === clients);
  const titleOf = (key) => report.contenders.find((contender) => contender.key === key)?.title;
  const of = (scenario, key) =>
    results.find((one) => one.scenario === scenario && one.contender === titleOf(key));
  /** @type {{ goal: string, reached: number, met: boolean }[]} */
  const judged = [];
  const compare = (what, ours, theirs, least) => {
    if (!ours || !theirs) return;
    const reached = ours.rate / theirs.rate;
    judged.push({
      goal: `${what}: ${least} times ${theirs.contender}`,
      reached,
      met: reached >= least,
    });
  };

  for (const { scenario, contender, least } of GOALS) {
    compare(scenario, of(scenario, "joust"), of(scenario, contender), least);
  }
  for (const { contender, least, scenario } of GOALS_AT_GOOD_RECALL) {
    const title = titleOf(contender);
    const theirs = scenario ? of(scenario, contender) : fastest(results, title, GOOD_RECALL);
    const enough = Math.max(GOOD_RECALL, (theirs?.recall ?? 1) - SAME_RECALL);
    const ours = fastest(results, titleOf("joust"), enough);
    const what = `recall ${enough.toFixed(3)} and more (${ours?.scenario} to ${theirs?.scenario})`;
    compare(what, ours, theirs, least);
  }
  for (const { scenario, contender, seconds, p50, p99 } of results) {
    if (contender !== titleOf("joust") || seconds !== undefined) continue;
    const reached = p99 / p50;
    const goal = `${scenario}: p99 within ${MOST_SPREAD} times p50`;
    judged.push({ goal, reached, met: reached < MOST_SPREAD });
  }
  return judged;
}

/**
 * The fastest search for one vector among all rows that finds so much of the right answer.
 *
 * @param {readonly Result[]} results
 * @param {string | undefined} contender
 * @param {number} recall
 */
function fastest(results, contender, recall) {
  return results
    .filter((one) => one.contender === contender && (one.recall ?? 0) >= recall)
    .filter(({ scenario }) => /^vector-(pq|graph|ivf|flat)(?!.*filter)/.test(scenario))
    .sort((a, b) => b.rate - a.rate)[0];
}
