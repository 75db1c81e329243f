import { Type } from "@sinclair/typebox";
import { operation, type Reply } from "../../api/operation.js";
import { count, nothing } from "../../api/schemas.js";
import type { BranchDifference, Table } from "../../engine/index.js";
import { ErrorCode, hasCode } from "../../foundation/errors.js";
import { changingTable } from "../../tables/table-writes.js";
import { branchDifference, differenceEntry, obstacles } from "./branch-difference.js";
import { fromBranch } from "./branch-name.js";

/**
 * Copies the columns that only the branch has to the main one, in one commit. That is well defined while
 * both have the same rows; where they have not, the reply says what is in the way, and nothing is done.
 * Indexes of the branch stay where they are.
 */
export const cherryPickTableBranch = operation({
  id: "CherryPickTableBranch",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/branches/cherry_pick/",
  summary: "Bring the columns that only a branch has to the main one, or tell why that cannot be",
  tag: "Branch",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      from_branch: fromBranch,
      dry_run: Type.Optional(Type.Boolean({ description: "only tell what would be done" })),
    }),
  },
  reply: Type.Object({
    status: Type.String({
      description:
        "cherryPicked; with dry_run ready; failed: see diff.errors; notImplemented: for blob columns and rows in another order",
    }),
    diff: branchDifference,
    preview: Type.Object({ promotedColumns: Type.Array(Type.String()) }),
    mainVersionAfter: Type.Optional(count),
  }),
  permission: "write",
  unrecorded: (_, reply) => statusOf(reply) !== "cherryPicked",
  uses: ["catalog", "config", "engine", "maintenance"],
  handle: (services, { id, payload }) =>
    changingTable(services, id, undefined, async ({ table }) => {
      const { from_branch: branch, dry_run = false } = payload;
      // Somebody else may write between the comparison and the commit: the second one tells.
      for (;;) {
        const found = await table.difference(branch);
        const outcome = await promote(table, branch, found, dry_run);
        if (outcome) return { kind: "json", value: pickReply(branch, found, outcome) };
      }
    }),
});

interface Outcome {
  readonly status: "ready" | "failed" | "notImplemented" | "cherryPicked";
  readonly mainVersionAfter?: number;
}

/** Undefined when the branches have changed since they were compared. */
async function promote(
  table: Table,
  branch: string,
  found: BranchDifference,
  dryRun: boolean,
): Promise<Outcome | undefined> {
  if (obstacles(found).length > 0) return { status: "failed" };
  if (found.addedColumns.some((column) => column.isBlob)) return { status: "notImplemented" };
  if (dryRun) return { status: "ready" };
  const { mainVersion, branchVersion } = found;
  try {
    const names = promoted(found);
    const version = await table.promoteColumns(branch, names, mainVersion, branchVersion);
    return { status: "cherryPicked", mainVersionAfter: version };
  } catch (error) {
    if (hasCode(error, ErrorCode.ConcurrentModification)) return undefined;
    // The same rows, which a compaction of one side has put into another order.
    if (hasCode(error, ErrorCode.InvalidTableState)) return { status: "notImplemented" };
    throw error;
  }
}

const promoted = ({ addedColumns }: BranchDifference): string[] =>
  addedColumns.map((column) => column.name);

const pickReply = (branch: string, found: BranchDifference, outcome: Outcome) => ({
  ...outcome,
  diff: differenceEntry(branch, found),
  preview: { promotedColumns: promoted(found) },
});

const statusOf = (reply: Reply): unknown =>
  reply.kind === "json" ? (reply.value as { status?: unknown }).status : undefined;
