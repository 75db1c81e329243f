/** @import { Contender, Dataset, RelationalTable, Scenario, TableName } from "../types.js" */

/** @type {readonly TableName[]} */
const ALL = ["bench", "bench_graph", "bench_ivf", "bench_rows", "bench_groups"];

/** Whether a table belongs to the SQL scenarios. @param {TableName} table @returns {table is RelationalTable} */
export const isRelational = (table) => table === "bench_rows" || table === "bench_groups";

/** The file with the rows of a table. @param {Dataset} dataset @param {TableName} table */
export function fileOf({ file, relational }, table) {
  if (!isRelational(table)) return file;
  if (relational === undefined) throw new Error(`the rows of ${table} were not generated`);
  return relational.files[table];
}

/** The tables that a contender needs for its scenarios. @param {readonly Scenario[]} scenarios @param {Contender} contender */
export function tablesOf(scenarios, contender) {
  const used = scenarios.filter((scenario) => runs(contender, scenario));
  const names = new Set(used.flatMap(({ table, joined }) => [table, joined]));
  return ALL.filter((table) => names.has(table));
}

/** Whether a contender runs this kind of scenario. @param {Contender} contender @param {Scenario} scenario */
export function runs({ scenarios = "search" }, { group }) {
  if (typeof scenarios !== "string") return scenarios.includes(group);
  if (group === "functions") return false;
  return scenarios === "all" || (scenarios === "sql") === (group === "sql");
}
