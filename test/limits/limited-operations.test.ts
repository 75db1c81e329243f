import { describe, expect, it } from "vitest";
import { operations } from "../../src/operations/index.js";

/** The operations that need more than `read` and have no limit of storage, by the reason. */
const withoutStorage: Readonly<Record<string, readonly string[]>> = {
  "changes rows and columns that exist: the guide says that the limits admit it": [
    "UpdateTable",
    "AlterTableAlterColumns",
    "CompactTable",
  ],
  "removes something": [
    "DropNamespace",
    "DropTable",
    "DeregisterTable",
    "DeleteFromTable",
    "DropTableIndex",
    "AlterTableDropColumns",
    "BatchDeleteTableVersions",
    "DeleteTableTag",
    "DeleteTableBranch",
    "DropMaterializedView",
    "AbortMultipartWrite",
  ],
  "creates an object of the catalog without rows or bytes": ["CreateNamespace", "DeclareTable"],
  "changes names, settings or references, and no data": [
    "UpdateFieldMetadata",
    "UpdateTableSchemaMetadata",
    "CreateTableTag",
    "UpdateTableTag",
    "CreateTableBranch",
    "AlterTransaction",
  ],
  "begins a write in parts: InsertIntoTable checks each part, CompleteMultipartWrite the end": [
    "CreateMultipartWrite",
  ],
  "controls a job: the request that queued it was checked": ["CancelJob", "PauseJob", "ResumeJob"],
  "is about grants": [
    "ListGrants",
    "AddGrant",
    "DeleteGrant",
    "ListRoleBindings",
    "AddRoleBinding",
    "DeleteRoleBinding",
    "DescribePrincipal",
    "DescribeGroup",
  ],
};

describe("the limits of storage", () => {
  it("hold for every operation that needs more than read, but for named exceptions", () => {
    const unlimited = operations
      .filter(({ permission, limited }) => permission !== "read" && !limited?.includes("storage"))
      .map(({ id }) => id);
    expect(unlimited.sort()).toEqual(Object.values(withoutStorage).flat().sort());
  });

  it("are the only limit of an operation whose content names the tables", () => {
    const byContent = operations.filter(({ storedTables }) => storedTables);
    expect(byContent.map(({ id }) => id).sort()).toEqual([
      "BatchCommitTables",
      "BatchCreateTableVersions",
      "RenameTable",
    ]);
    for (const { limited } of byContent) expect(limited).toEqual(["storage"]);
  });
});
