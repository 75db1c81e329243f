/** @import { Operation, Relational, Scenario } from "./types.js" */
import { random } from "./data/random.mjs";
import { judgeCopies, judgeSql } from "./judge/sql.mjs";

const OPERATIONS = 500;
/** Copies of the table in the large result: about 1 GB for 1,000,000 rows. */
const COPIES = 10;

/**
 * SQL that joust and its peers run unchanged, over two tables without vectors.
 *
 * @type {readonly Scenario[]}
 */
export const sqlScenarios = [
  sql("sql-point", "SQL: one row by its id", (relational) => {
    const chance = random(11);
    return Array.from({ length: OPERATIONS }, () => {
      const id = chance.below(relational.rows);
      return statement(`SELECT id, text FROM bench_rows WHERE id = ${id}`, [
        [id, relational.textOf(id)],
      ]);
    });
  }),
  sql("sql-aggregate", "SQL: GROUP BY over all rows", ({ byLabel }) => [
    statement(
      "SELECT label, count(*) AS matches, CAST(sum(number) AS BIGINT) AS total FROM bench_rows GROUP BY label ORDER BY label",
      byLabel,
    ),
  ]),
  sql("sql-join", "SQL: join of all rows with 1,000 groups, GROUP BY", ({ byRegion }) => [
    statement(
      "SELECT g.region, count(*) AS matches, CAST(sum(r.number) AS BIGINT) AS total FROM bench_rows r JOIN bench_groups g ON r.group_id = g.id GROUP BY g.region ORDER BY g.region",
      byRegion,
    ),
  ]),
  {
    ...sql("sql-result", "SQL: a result of all rows ten times, streamed", () => [
      statement(
        `SELECT g.id AS copy, r.id, r.label, r.number, r.group_id, r.text FROM (SELECT id FROM bench_groups WHERE id < ${COPIES}) g CROSS JOIN bench_rows r`,
      ),
    ]),
    measure: "result",
    clients: [1],
    judge: judgeCopies(COPIES),
  },
];

/** @param {string} key @param {string} title @param {(relational: Relational) => Operation[]} operations @returns {Scenario} */
function sql(key, title, operations) {
  return {
    key,
    title,
    group: "sql",
    measure: "load",
    table: "bench_rows",
    joined: "bench_groups",
    quick: true,
    operations: ({ relational }) => operations(/** @type {Relational} */ (relational)),
    judge: judgeSql,
  };
}

/** @param {string} text @param {readonly (readonly (string | number)[])[]} [expected] @returns {Operation} */
function statement(text, expected = []) {
  return { kind: "sql", text, expected };
}
