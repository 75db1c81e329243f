/** @import { Report, Result } from "../types.js" */

/**
 * The least speed of joust as a multiple of a contender.
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
/**
 * What a part of joust may cost: the processor time of a request without it, as a share of the time with it. The rates of
 * two servers on one machine differ by more than that from one round to the next.
 */
const COSTS = [{ scenario: "points", contender: "joust-granted", least: 0.97 }];
/** What the server may cost beside a script that calls the same function. */
const FUNCTIONS = { scenario: "function", contender: "pylance-script", least: 0.9 };
/** What an incremental refresh gains. */
const VIEWS = { scenario: "view", contender: "joust-views-full", least: 20 };
/** A shallow clone takes at most so long, whatever the size of the table. */
const CLONES = { scenario: "clone", most: 100 };
/** The same for searches with a good recall: the fastest one of each contender counts. */
const GOOD_RECALL = 0.95;
const GOALS_AT_GOOD_RECALL = [
  { contender: "chroma", least: 1.5 },
  { contender: "lance", least: 6, scenario: "vector-pq-high" },
];
/** Write scenarios set their numbers of clients. Other contenders need not fsync their writes. */
const WRITE_GOALS = [
  { scenario: "insert-64", contender: "rest-adapter", least: 50 },
  { scenario: "ingest", contender: "lance", least: 0.8 },
];
/** Requests per second. */
const WRITE_RATES = [
  { scenario: "insert-1", least: 150 },
  { scenario: "insert-64", least: 5000 },
];
/** The greatest ratio of p99 to p50 in a scenario under load. */
const MAX_SPREAD = 5;
/** Recalls with a smaller difference count as equal. */
const SAME_RECALL = 0.005;

/**
 * @typedef {{ goal: string, reached: number, met: boolean }} GoalResult
 * @typedef {(contender: string) => string | undefined} TitleOf
 */

/**
 * Compares the results with the goals, for the greatest measured number of clients; for writes, with the clients
 * of the scenario.
 *
 * @param {Report} report
 * @returns {GoalResult[]}
 */
export function judgeGoals(report) {
  /** @type {TitleOf} */
  const titleOf = (key) => report.contenders.find((contender) => contender.key === key)?.title;
  const clients = Math.max(...report.results.map((result) => result.clients).filter((n) => n <= 8));
  const results = report.results.filter((result) => result.clients === clients);
  return [
    ...comparisons(GOALS, results, titleOf),
    ...costs(COSTS, results, titleOf),
    ...comparisons([FUNCTIONS], report.results, titleOf, "joust-functions"),
    ...comparisons([VIEWS], report.results, titleOf, "joust-views"),
    ...cloneTime(report.results, titleOf),
    ...comparisons(WRITE_GOALS, report.results, titleOf),
    ...rates(WRITE_RATES, report.results, titleOf),
    ...atGoodRecall(results, titleOf),
    ...spreads(results, titleOf),
  ];
}

/**
 * @param {readonly Goal[]} goals
 * @param {readonly Result[]} results
 * @param {TitleOf} titleOf
 * @param {string} [subject] the key of the contender that has the goal
 */
function comparisons(goals, results, titleOf, subject = "joust") {
  return goals.flatMap(({ scenario, contender, least }) => {
    const [ours, theirs] = [subject, contender].map((key) =>
      findResult(results, scenario, titleOf(key)),
    );
    return compare(scenario, ours, theirs, least);
  });
}

/** @param {readonly Goal[]} goals @param {readonly Result[]} results @param {TitleOf} titleOf */
function costs(goals, results, titleOf) {
  return goals.flatMap(({ scenario, contender, least }) => {
    const [withPart, without] = [contender, "joust"].map((key) =>
      findResult(results, scenario, titleOf(key)),
    );
    if (!withPart?.cpuSecondsPer1000 || !without?.cpuSecondsPer1000) return [];
    const reached = without.cpuSecondsPer1000 / withPart.cpuSecondsPer1000;
    const goal = `${scenario}: processor time at least ${least} times ${withPart.contender}`;
    return [{ goal, reached, met: reached >= least }];
  });
}

/** @param {readonly Omit<Goal, "contender">[]} goals @param {readonly Result[]} results @param {TitleOf} titleOf */
function rates(goals, results, titleOf) {
  return goals.flatMap(({ scenario, least }) => {
    const reached = findResult(results, scenario, titleOf("joust"))?.rate;
    if (reached === undefined) return [];
    return [{ goal: `${scenario}: ${least} requests/s`, reached, met: reached >= least }];
  });
}

/** @param {readonly Result[]} results @param {TitleOf} titleOf @returns {GoalResult[]} */
function cloneTime(results, titleOf) {
  const { scenario, most } = CLONES;
  const seconds = findResult(results, scenario, titleOf("joust-clones"))?.seconds;
  if (seconds === undefined) return [];
  const reached = seconds * 1000;
  return [{ goal: `${scenario}: at most ${most} ms`, reached, met: reached <= most }];
}

/** @param {readonly Result[]} results @param {TitleOf} titleOf */
function atGoodRecall(results, titleOf) {
  return GOALS_AT_GOOD_RECALL.flatMap(({ contender, least, scenario }) => {
    const title = titleOf(contender);
    const theirs = scenario
      ? findResult(results, scenario, title)
      : fastest(results, title, GOOD_RECALL);
    const enough = Math.max(GOOD_RECALL, (theirs?.recall ?? 1) - SAME_RECALL);
    const ours = fastest(results, titleOf("joust"), enough);
    const subject = `recall of at least ${enough.toFixed(3)} (${ours?.scenario} to ${theirs?.scenario})`;
    return compare(subject, ours, theirs, least);
  });
}

/** @param {readonly Result[]} results @param {TitleOf} titleOf @returns {GoalResult[]} */
function spreads(results, titleOf) {
  // Beside requests that compute long, a few reads wait for them.
  const loads = results.filter(
    ({ seconds, scenario }) => seconds === undefined && !scenario.includes("-beside-"),
  );
  const ours = loads.filter(({ contender }) => contender === titleOf("joust"));
  return ours.map(({ scenario, p50, p99 }) => {
    const reached = p99 / p50;
    const goal = `${scenario}: p99 within ${MAX_SPREAD} times p50`;
    return { goal, reached, met: reached < MAX_SPREAD };
  });
}

/** @param {readonly Result[]} results @param {string} scenario @param {string | undefined} contender */
function findResult(results, scenario, contender) {
  return results.find((one) => one.scenario === scenario && one.contender === contender);
}

/**
 * @param {string} subject
 * @param {Result | undefined} ours
 * @param {Result | undefined} theirs
 * @param {number} least
 * @returns {GoalResult[]} empty if one of them was not measured
 */
function compare(subject, ours, theirs, least) {
  if (!ours || !theirs) return [];
  const reached = ours.rate / theirs.rate;
  return [
    { goal: `${subject}: ${least} times ${theirs.contender}`, reached, met: reached >= least },
  ];
}

/**
 * The fastest search for one vector without a filter that reaches a recall.
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
