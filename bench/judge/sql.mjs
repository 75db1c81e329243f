/** @import { Relational, Scenario } from "../types.js" */

/** Requires exactly the expected values, in their order. @type {Scenario["judge"]} */
export function judgeSql(answers, operations) {
  answers.forEach(({ values }, i) => {
    const operation = operations[i];
    if (operation?.kind !== "sql") return;
    const [got, wanted] = [JSON.stringify(values), JSON.stringify(operation.expected)];
    if (got !== wanted) {
      throw new Error(
        `${operation.text} answered ${got?.slice(0, 200)} instead of ${wanted.slice(0, 200)}`,
      );
    }
  });
  return { rows: answers.reduce((sum, { rows }) => sum + rows, 0) / answers.length };
}

/**
 * Requires a result with this many copies of all rows.
 *
 * @param {number} copies
 * @returns {Scenario["judge"]}
 */
export const judgeCopies =
  (copies) =>
  ([{ rows, sum }], _operations, dataset) => {
    const { rows: all } = /** @type {Relational} */ (dataset.relational);
    const expected = { rows: copies * all, sum: (copies * all * (all - 1)) / 2 };
    if (rows !== expected.rows || sum !== expected.sum) {
      throw new Error(
        `${rows} rows with ids of the sum ${sum} instead of ${expected.rows} with ${expected.sum}`,
      );
    }
    return { rows };
  };
