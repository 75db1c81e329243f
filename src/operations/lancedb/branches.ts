import { Type } from "@sinclair/typebox";
import type { BranchDifference } from "../../engine/index.js";
import type { Services } from "../../services.js";
import { onTable } from "../open-table.js";
import { operation } from "../operation.js";
import { count, nothing } from "../schemas.js";
import { branchDifference, differenceEntry } from "./branch-difference.js";

const fromBranch = Type.String({ minLength: 1, description: "name of the branch" });

const diffTableBranch = operation({
  id: "DiffTableBranch",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/branches/diff/",
  summary: "Compare a branch with the main one",
  tag: "Branch",
  params: nothing,
  body: { kind: "json", schema: Type.Object({ from_branch: fromBranch }) },
  reply: branchDifference,
  permission: "read",
  async handle(services, { id, payload }) {
    const { from_branch } = payload;
    const found = await difference(services, id, from_branch);
    return { kind: "json", value: differenceEntry(from_branch, found) };
  },
});

/**
 * What would be done to bring a branch's columns to the main one. Doing it is left to clients: they copy
 * the rows. Nothing is ever changed.
 */
const cherryPickTableBranch = operation({
  id: "CherryPickTableBranch",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/branches/cherry_pick/",
  summary: "Tell whether a branch's columns could be brought to the main one; it is not done",
  tag: "Branch",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      from_branch: fromBranch,
      dry_run: Type.Optional(Type.Boolean()),
    }),
  },
  reply: Type.Object({
    status: Type.String({ description: "failed: see diff.errors; notImplemented" }),
    diff: branchDifference,
    preview: Type.Object({ promotedColumns: Type.Array(Type.String()) }),
    mainVersionAfter: Type.Optional(count),
  }),
  permission: "read",
  async handle(services, { id, payload }) {
    const found = await difference(services, id, payload.from_branch);
    const diff = differenceEntry(payload.from_branch, found);
    const promotedColumns = found.addedColumns.map((column) => column.name);
    return {
      kind: "json",
      value: {
        status: diff.errors.length > 0 ? "failed" : "notImplemented",
        diff,
        preview: { promotedColumns },
      },
    };
  },
});

const difference = (
  services: Services,
  id: readonly string[],
  branch: string,
): Promise<BranchDifference> => onTable(services, id, ({ table }) => table.difference(branch));

export const branchComparisons = [diffTableBranch, cherryPickTableBranch];
