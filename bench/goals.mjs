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
/** Writes have numbers of clients of their own. What the others write they need not have synced. */
const GOALS_OF_WRITES = [
  { scenario: "insert-64", contender: "rest-adapter", least: 50 },
  { scenario: "ingest", contender: "lance", least: 0.8 },
];
/** Requests a second. */
const RATES_OF_WRITES = [
  { scenario: "insert-1", least: 150 },
  { scenario: "insert-64", least: 5000 },
];
/** How far the slowest hundredth may lie above the middle, in any scenario under load. */
const MOST_SPREAD = 5;
/** Recalls that differ by less are the same. */
const SAME_RECALL = 0.005;

/**
 * @typedef {{ goal: string, reached: number, met: boolean }} Judgement
 * @typedef {(contender: string) => string | undefined} TitleOf
 */

/**
 * What was aimed at and what was reached, of the most clients that were measured; of writes with their own.
 *
 * @param {Report} report
 * @returns {Judgement[]}
 */
export function judgeGoals(report) {
  /** @type {TitleOf} */
  const titleOf = (key) => report.contenders.find((contender) => contender.key === key)?.title;
  const clients = Math.max(...report.results.map((result) => result.clients).filter((n) => n <= 8));
  const results = report.results.filter((result) => result.clients === clients);
  return [
    ...comparisons(GOALS, results, titleOf),
    ...comparisons(GOALS_OF_WRITES, report.results, titleOf),
    ...rates(RATES_OF_WRITES, report.results, titleOf),
    ...atGoodRecall(results, titleOf),
    ...spreads(results, titleOf),
  ];
}

/** @param {readonly Goal[]} goals @param {readonly Result[]} results @param {TitleOf} titleOf */
function comparisons(goals, results, titleOf) {
  return goals.flatMap(({ scenario, contender, least }) => {
    const [ours, theirs] = ["joust", contender].map((key) => of(results, scenario, titleOf(key)));
    return compare(scenario, ours, theirs, least);
  });
}

/** @param {readonly Omit<Goal, "contender">[]} goals @param {readonly Result[]} results @param {TitleOf} titleOf */
function rates(goals, results, titleOf) {
  return goals.flatMap(({ scenario, least }) => {
    const reached = of(results, scenario, titleOf("joust"))?.rate;
    if (reached === undefined) return [];
    return [{ goal: `${scenario}: ${least} requests/s`, reached, met: reached >= least }];
  });
}

/** @param {readonly Result[]} results @param {TitleOf} titleOf */
function atGoodRecall(results, titleOf) {
  return GOALS_AT_GOOD_RECALL.flatMap(({ contender, least, scenario }) => {
    const title = titleOf(contender);
    const theirs = scenario ? of(results, scenario, title) : fastest(results, title, GOOD_RECALL);
    const enough = Math.max(GOOD_RECALL, (theirs?.recall ?? 1) - SAME_RECALL);
    const ours = fastest(results, titleOf("joust"), enough);
    const what = `recall ${enough.toFixed(3)} and more (${ours?.scenario} to ${theirs?.scenario})`;
    return compare(what, ours, theirs, least);
  });
}

/** @param {readonly Result[]} results @param {TitleOf} titleOf @returns {Judgement[]} */
function spreads(results, titleOf) {
  const loads = results.filter(({ seconds }) => seconds === undefined);
  const ours = loads.filter(({ contender }) => contender === titleOf("joust"));
  return ours.map(({ scenario, p50, p99 }) => {
    const reached = p99 / p50;
    const goal = `${scenario}: p99 within ${MOST_SPREAD} times p50`;
    return { goal, reached, met: reached < MOST_SPREAD };
  });
}

/** @param {readonly Result[]} results @param {string} scenario @param {string | undefined} contender */
function of(results, scenario, contender) {
  return results.find((one) => one.scenario === scenario && one.contender === contender);
}

/**
 * @param {string} what
 * @param {Result | undefined} ours
 * @param {Result | undefined} theirs
 * @param {number} least
 * @returns {Judgement[]} none where one of both was not measured
 */
function compare(what, ours, theirs, least) {
  if (!ours || !theirs) return [];
  const reached = ours.rate / theirs.rate;
  return [{ goal: `${what}: ${least} times ${theirs.contender}`, reached, met: reached >= least }];
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
