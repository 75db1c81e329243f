import { createTableIndex } from "./create-table-index.js";
import { createTableScalarIndex } from "./create-table-scalar-index.js";
import { describeTableIndexStats } from "./describe-table-index-stats.js";
import { dropTableIndex } from "./drop-table-index.js";
import { listTableIndices } from "./list-table-indices.js";

export const indexes = [
  createTableIndex,
  createTableScalarIndex,
  listTableIndices,
  describeTableIndexStats,
  dropTableIndex,
];
