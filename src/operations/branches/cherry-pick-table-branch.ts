import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation, type Reply } from "../../api/operation.js";
import { count, nothing } from "../../api/schemas.js";
import type { BranchDifference, Table } from "../../engine/index.js";
import { ErrorCode, hasCode } from "../../foundation/errors.js";
import { changingTable } from "../../tables/table-writes.js";
import { branchDifference, differenceEntry, obstacles } from "./branch-difference.js";
import { branchNameSchema } from "./branch-name.js";

/**
 * Copies the columns that only the branch has to main, in one commit. Both branches must have the same rows;
 * otherwise nothing changes, and the reply lists the obstacles. Indexes of the branch are not copied.
 */
export const cherryPickTableBranch = operation({
  id: "CherryPickTableBranch",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/branches/cherry_pick/",
  summary: "Copy the columns that only a branch has to main, or report why that is not possible",
  tag: "Branch",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      from_branch: branchNameSchema,
      dry_run: Type.Optional(
        Type.Boolean({ description: "only report what the request would do" }),
      ),
    }),
  },
  reply: Type.Object({
    status: Type.String({
      description:
        "cherryPicked; ready, with dry_run; failed: see diff.errors; notImplemented: blob columns, or rows in another order",
    }),
    diff: branchDifference,
    preview: Type.Object({ promotedColumns: Type.Array(Type.String()) }),
    mainVersionAfter: Type.Optional(count),
  }),
  access: accessTo("table", "update", "create"),
  limited: ["query", "storage"],
  unrecorded: (_, reply) => statusOf(reply) !== "cherryPicked",
  uses: ["catalog", "config", "engine", "maintenance"],
  handle: (services, { id, payload }) =>
    changingTable(services, id, undefined, async ({ table }) => {
      const { from_branch: branch, dry_run = false } = payload;
      // A write between the comparison and the commit makes the commit fail: then compare again.
      for (;;) {
        const difference = await table.difference(branch);
        const outcome = await promote(table, branch, difference, dry_run);
        if (outcome) return { kind: "json", value: cherryPickEntry(branch, difference, outcome) };
      }
    }),
});

interface Outcome {
  readonly status: "ready" | "failed" | "notImplemented" | "cherryPicked";
  readonly mainVersionAfter?: number;
}

/** Undefined if a branch changed since the comparison. */
async function promote(
  table: Table,
  branch: string,
  difference: BranchDifference,
  dryRun: boolean,
): Promise<Outcome | undefined> {
  if (obstacles(difference).length > 0) return { status: "failed" };
  if (difference.addedColumns.some((column) => column.isBlob)) return { status: "notImplemented" };
  if (dryRun) return { status: "ready" };
  const { mainVersion, branchVersion } = difference;
  try {
    const names = addedNames(difference);
    const version = await table.promoteColumns(branch, names, mainVersion, branchVersion);
    return { status: "cherryPicked", mainVersionAfter: version };
  } catch (error) {
    if (hasCode(error, ErrorCode.ConcurrentModification)) return undefined;
    // Compaction of one branch has changed the order of its rows.
    if (hasCode(error, ErrorCode.InvalidTableState)) return { status: "notImplemented" };
    throw error;
  }
}

const addedNames = ({ addedColumns }: BranchDifference): string[] =>
  addedColumns.map((column) => column.name);

const cherryPickEntry = (branch: string, difference: BranchDifference, outcome: Outcome) => ({
  ...outcome,
  diff: differenceEntry(branch, difference),
  preview: { promotedColumns: addedNames(difference) },
});

const statusOf = (reply: Reply): unknown =>
  reply.kind === "json" ? (reply.value as { status?: unknown }).status : undefined;
