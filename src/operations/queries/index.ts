import { analyzeTableQueryPlan } from "./analyze-table-query-plan.js";
import { executeSql } from "./execute-sql.js";
import { explainTableQueryPlan } from "./explain-table-query-plan.js";
import { queryTable } from "./query-table.js";

export const queries = [queryTable, explainTableQueryPlan, analyzeTableQueryPlan, executeSql];
