/** @import { Answer, Judgement, Scenario } from "../types.js" */
import { recall } from "../measure/statistics.mjs";

/** @param {readonly Answer[]} answers @param {readonly (readonly number[])[]} truth @returns {Judgement} */
export function judgeNearest(answers, truth) {
  const ids = answers.map((answer) => answer.ids);
  const known = truth.slice(0, ids.length);
  return { rows: meanRows(answers), recall: recall(ids.slice(0, known.length), known) };
}

/**
 * Judges requests of several vectors.
 *
 * @param {number} vectors of each request
 * @param {number} k
 * @returns {Scenario["judge"]}
 */
export const judgeBatches = (vectors, k) => (answers, _operations, dataset) => {
  const expected = vectors * Math.min(k, dataset.rows);
  const short = answers.find(({ rows }) => rows < expected);
  if (short) throw new Error(`${short.rows} rows for ${vectors} vectors instead of ${expected}`);
  const { all } = dataset.truth;
  const known = answers.slice(0, Math.floor(all.length / vectors));
  return judgeNearest(
    known,
    known.map((_, i) => all.slice(i * vectors, (i + 1) * vectors).flat()),
  );
};

/** Requires at least one row in at least one answer. @param {readonly Answer[]} answers */
export function judgeRows(answers) {
  const rows = meanRows(answers);
  if (rows === 0) throw new Error("no answer contains a row");
  return { rows };
}

/** @type {Scenario["judge"]} */
export function judgeFilter(answers, operations, dataset) {
  answers.forEach(({ rows, ids }, i) => {
    const operation = operations[i];
    if (operation?.kind !== "filter") return;
    const wrong = ids.find((id) => !dataset.matches(id, operation.filter));
    if (wrong !== undefined) throw new Error(`row ${wrong} does not match the filter`);
    const expected = Math.min(operation.limit, dataset.count(operation.filter));
    if (rows !== expected) throw new Error(`${rows} rows instead of ${expected}`);
  });
  return { rows: meanRows(answers) };
}

/** @type {Scenario["judge"]} */
export function judgePoints(answers, operations) {
  answers.forEach(({ ids }, i) => {
    const operation = operations[i];
    if (operation?.kind !== "points") return;
    if (recall([ids], [operation.ids]) < 1 || ids.length !== operation.ids.length) {
      throw new Error(`rows ${ids.join(", ")} instead of ${operation.ids.join(", ")}`);
    }
  });
  return { rows: meanRows(answers) };
}

/** @type {Scenario["judge"]} */
export function judgeCount(answers, operations, dataset) {
  answers.forEach(({ rows }, i) => {
    const operation = operations[i];
    if (operation?.kind !== "count") return;
    const expected = operation.filter ? dataset.count(operation.filter) : dataset.rows;
    if (rows !== expected) throw new Error(`counted ${rows} instead of ${expected}`);
  });
  return { rows: meanRows(answers) };
}

/** @param {readonly Answer[]} answers */
function meanRows(answers) {
  return answers.reduce((sum, { rows }) => sum + rows, 0) / answers.length;
}
