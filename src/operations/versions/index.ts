import { batchCommitTables } from "./batch-commit-tables.js";
import { batchCreateTableVersions } from "./batch-create-table-versions.js";
import { batchDeleteTableVersions } from "./batch-delete-table-versions.js";
import { createTableVersion } from "./create-table-version.js";
import { describeTableVersion } from "./describe-table-version.js";
import { listTableVersions } from "./list-table-versions.js";
import { restoreTable } from "./restore-table.js";
import { createTableTag } from "./tags/create-table-tag.js";
import { deleteTableTag } from "./tags/delete-table-tag.js";
import { getTableTagVersion } from "./tags/get-table-tag-version.js";
import { listTableTags } from "./tags/list-table-tags.js";
import { updateTableTag } from "./tags/update-table-tag.js";

export const versions = [
  listTableVersions,
  describeTableVersion,
  batchDeleteTableVersions,
  createTableVersion,
  batchCreateTableVersions,
  batchCommitTables,
  restoreTable,
  listTableTags,
  getTableTagVersion,
  createTableTag,
  updateTableTag,
  deleteTableTag,
];
