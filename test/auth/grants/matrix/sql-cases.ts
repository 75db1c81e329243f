/** The SQL statements of the matrix: each needs what the operations need that it runs. */
import { type Case, inSpace, type Names, onTable } from "./case.js";

const statement = (
  title: string,
  query: (names: Names) => string,
  needs: Case["needs"],
  rest: Omit<Case, "needs"> = {},
): Case => ({
  title,
  body: (names) => ({ query: query(names) }),
  ...(needs && { needs }),
  ...rest,
});

export const sqlCases: readonly Case[] = [
  statement("SELECT", ({ space, table }) => `SELECT id FROM ${space}.${table}`, undefined),
  statement(
    "INSERT",
    ({ space, table }) => `INSERT INTO ${space}.${table} (id) VALUES (1)`,
    (names) => [[onTable(names), "insert"]],
  ),
  statement(
    "UPDATE",
    ({ space, table }) => `UPDATE ${space}.${table} SET price = 1 WHERE false`,
    (names) => [[onTable(names), "update"]],
  ),
  statement(
    "DELETE",
    ({ space, table }) => `DELETE FROM ${space}.${table} WHERE false`,
    (names) => [[onTable(names), "delete"]],
  ),
  statement(
    "CREATE TABLE",
    ({ space, n }) => `CREATE TABLE ${space}.new${n} (id BIGINT)`,
    (names) => [[inSpace(names), "create"]],
  ),
  statement(
    "DROP TABLE",
    ({ space, table }) => `DROP TABLE ${space}.${table}`,
    (names) => [[onTable(names), "drop"]],
    { fresh: "table" },
  ),
  statement(
    "GRANT",
    ({ space, table, n }) => `GRANT SELECT, INSERT ON TABLE ${space}.${table} TO 'group:new${n}'`,
    (names) => [
      [onTable(names), "grant", "select"],
      [onTable(names), "grant", "insert"],
    ],
  ),
  statement(
    "REVOKE",
    ({ space, table, fresh }) => `REVOKE SELECT ON TABLE ${space}.${table} FROM 'group:${fresh}'`,
    (names) => [[onTable(names), "grant"]],
    { fresh: "grant" },
  ),
];
