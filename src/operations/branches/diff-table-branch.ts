import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";
import { onTable } from "../../tables/open-table.js";
import { branchDifference, differenceEntry } from "./branch-difference.js";
import { branchNameSchema } from "./branch-name.js";

export const diffTableBranch = operation({
  id: "DiffTableBranch",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/branches/diff/",
  summary: "Compare a branch with main",
  tag: "Branch",
  params: nothing,
  body: { kind: "json", schema: Type.Object({ from_branch: branchNameSchema }) },
  reply: branchDifference,
  access: accessTo("table", "select"),
  limited: ["query"],
  uses: ["catalog", "config", "engine"],
  async handle(services, { id, payload, timeLeftMs }) {
    const { from_branch } = payload;
    const difference = await onTable(services, id, ({ table }) =>
      table.difference(from_branch, timeLeftMs),
    );
    return { kind: "json", value: differenceEntry(from_branch, difference) };
  },
});
