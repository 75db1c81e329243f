import { Type } from "@sinclair/typebox";
import { count } from "../../api/schemas.js";
import type { BranchDifference, ColumnFacts, IndexDescription } from "../../engine/index.js";

const column = Type.Object({
  name: Type.String(),
  dataType: Type.String(),
  nullable: Type.Boolean(),
});
const index = Type.Object({
  indexName: Type.String(),
  columns: Type.Array(Type.String()),
  indexType: Type.String(),
  status: Type.String(),
});

/** A branch compared with the main one, as LanceDB SDKs have it. */
export const branchDifference = Type.Object({
  fromBranch: Type.String(),
  parentVersion: count,
  mainVersion: count,
  branchVersion: count,
  baseMoved: Type.Boolean(),
  rowCountMain: count,
  rowCountBranch: count,
  rowSummary: Type.Object({
    unchanged: count,
    newOnBase: count,
    newOnBranch: count,
    staleRecompute: count,
    inputsChanged: count,
    deltaAvailable: Type.Boolean(),
  }),
  addedColumns: Type.Array(column),
  removedColumns: Type.Array(column),
  changedColumns: Type.Array(Type.Object({ name: Type.String(), main: column, branch: column })),
  addedIndexes: Type.Array(index),
  removedIndexes: Type.Array(index),
  errors: Type.Array(Type.Object({ code: Type.String(), message: Type.String() })),
});

/** `errors` are the reasons why the branch could not be applied to the main one as it is. */
export function differenceEntry(fromBranch: string, found: BranchDifference) {
  const { rows } = found;
  return {
    fromBranch,
    parentVersion: found.parentVersion,
    mainVersion: found.mainVersion,
    branchVersion: found.branchVersion,
    baseMoved: baseMoved(found),
    rowCountMain: found.rowsOnMain,
    rowCountBranch: found.rowsOnBranch,
    rowSummary: {
      unchanged: rows?.unchanged ?? 0,
      newOnBase: rows?.newOnMain ?? 0,
      newOnBranch: rows?.newOnBranch ?? 0,
      // Nothing is computed again on the way from one branch to another.
      staleRecompute: 0,
      inputsChanged: rows?.changed ?? 0,
      deltaAvailable: rows !== undefined,
    },
    addedColumns: found.addedColumns.map(columnEntry),
    removedColumns: found.removedColumns.map(columnEntry),
    changedColumns: found.changedColumns.map(({ main, branch }) => ({
      name: main.name,
      main: columnEntry(main),
      branch: columnEntry(branch),
    })),
    addedIndexes: found.addedIndices.map(indexEntry),
    removedIndexes: found.removedIndices.map(indexEntry),
    errors: obstacles(found),
  };
}

const baseMoved = ({ parentBranch, parentVersion, mainVersion }: BranchDifference): boolean =>
  parentBranch === undefined && mainVersion > parentVersion;

const columnEntry = ({ name, dataType, nullable }: ColumnFacts) => ({ name, dataType, nullable });

const indexEntry = ({ name, columns, indexType }: IndexDescription) => ({
  indexName: name,
  columns,
  indexType,
  status: "Ready",
});

/** Why the branch's columns cannot be brought to the main one as they are. */
export function obstacles(found: BranchDifference): { code: string; message: string }[] {
  const { rows } = found;
  const { parentBranch, parentVersion, mainVersion, rowsOnMain, rowsOnBranch } = found;
  const removed = found.removedColumns.map((column) => column.name).join(", ");
  const changed = found.changedColumns.map(({ main }) => main.name).join(", ");
  const moved = (rows?.changed ?? 0) + (rows?.newOnMain ?? 0) + (rows?.newOnBranch ?? 0);
  const all = {
    parentNotMain: parentBranch !== undefined && `the branch began on the branch ${parentBranch}`,
    baseMoved:
      baseMoved(found) && `main is at version ${mainVersion}, the branch began at ${parentVersion}`,
    rowCountMismatch:
      rowsOnMain !== rowsOnBranch && `main has ${rowsOnMain} rows, the branch ${rowsOnBranch}`,
    rowsChanged:
      rows === undefined
        ? "it cannot be told which rows changed"
        : moved > 0 && `${moved} rows are new or changed on one side`,
    columnRemoved: removed !== "" && `the branch has no ${removed}`,
    columnChanged: changed !== "" && `the branch has other types of ${changed}`,
    noColumnChanges: found.addedColumns.length === 0 && "the branch has no column that main lacks",
  };
  return Object.entries(all).flatMap(([code, message]) =>
    message === false ? [] : [{ code, message }],
  );
}
