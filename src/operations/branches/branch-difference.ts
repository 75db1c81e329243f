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

/** The difference between a branch and main, in the form of LanceDB SDKs. */
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

/** `errors`: why the columns of the branch cannot be copied to main. */
export function differenceEntry(fromBranch: string, difference: BranchDifference) {
  const { rows } = difference;
  return {
    fromBranch,
    parentVersion: difference.parentVersion,
    mainVersion: difference.mainVersion,
    branchVersion: difference.branchVersion,
    baseMoved: baseMoved(difference),
    rowCountMain: difference.rowsOnMain,
    rowCountBranch: difference.rowsOnBranch,
    rowSummary: {
      unchanged: rows?.unchanged ?? 0,
      newOnBase: rows?.newOnMain ?? 0,
      newOnBranch: rows?.newOnBranch ?? 0,
      // Copying columns between branches computes no values.
      staleRecompute: 0,
      inputsChanged: rows?.changed ?? 0,
      deltaAvailable: rows !== undefined,
    },
    addedColumns: difference.addedColumns.map(columnEntry),
    removedColumns: difference.removedColumns.map(columnEntry),
    changedColumns: difference.changedColumns.map(({ main, branch }) => ({
      name: main.name,
      main: columnEntry(main),
      branch: columnEntry(branch),
    })),
    addedIndexes: difference.addedIndices.map(indexEntry),
    removedIndexes: difference.removedIndices.map(indexEntry),
    errors: obstacles(difference),
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

/** Why the columns of the branch cannot be copied to main. */
export function obstacles(difference: BranchDifference): { code: string; message: string }[] {
  const { rows } = difference;
  const { parentBranch, parentVersion, mainVersion, rowsOnMain, rowsOnBranch } = difference;
  const removed = difference.removedColumns.map((column) => column.name).join(", ");
  const changed = difference.changedColumns.map(({ main }) => main.name).join(", ");
  const moved = (rows?.changed ?? 0) + (rows?.newOnMain ?? 0) + (rows?.newOnBranch ?? 0);
  const all = {
    parentNotMain:
      parentBranch !== undefined && `the parent of the branch is ${parentBranch}, not main`,
    baseMoved:
      baseMoved(difference) &&
      `main is at version ${mainVersion}, the branch was created at version ${parentVersion}`,
    rowCountMismatch:
      rowsOnMain !== rowsOnBranch && `main has ${rowsOnMain} rows, the branch has ${rowsOnBranch}`,
    rowsChanged:
      rows === undefined
        ? "the server cannot determine which rows changed"
        : moved > 0 && `${moved} rows are new or changed on one of the branches`,
    columnRemoved: removed !== "" && `the branch lacks the columns ${removed}`,
    columnChanged: changed !== "" && `the types of the columns ${changed} differ`,
    noColumnChanges: difference.addedColumns.length === 0 && "the branch adds no column",
  };
  return Object.entries(all).flatMap(([code, message]) =>
    message === false ? [] : [{ code, message }],
  );
}
