import { compactTable } from "./compact-table.js";
import { createTable } from "./create-table.js";
import { describeTable } from "./description/describe-table.js";
import { tableExists } from "./description/table-exists.js";
import { dropTable } from "./drop-table.js";
import { getTableStats } from "./get-table-stats.js";
import { listAllTables } from "./list-all-tables.js";
import { listTables } from "./list-tables.js";
import { declareTable } from "./registration/declare-table.js";
import { deregisterTable } from "./registration/deregister-table.js";
import { registerTable } from "./registration/register-table.js";
import { renameTable } from "./rename-table.js";

export const tables = [
  createTable,
  describeTable,
  tableExists,
  listTables,
  listAllTables,
  dropTable,
  renameTable,
  getTableStats,
  registerTable,
  deregisterTable,
  declareTable,
  compactTable,
];
