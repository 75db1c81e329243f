import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { nothing, transactionId } from "../../api/schemas.js";
import { changingReferences } from "../../tables/table-writes.js";
import { checkVersion, onBranch } from "../../tables/target.js";
import { branchNameSchema } from "./branch-name.js";

export const createTableBranch = operation({
  id: "CreateTableBranch",
  methods: ["POST"],
  path: "/v1/table/{id}/branches/create",
  summary: "Create a branch at a version of another branch",
  tag: "Branch",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      name: branchNameSchema,
      from_branch: Type.Optional(Type.String({ description: "parent branch; default: main" })),
      from_version: Type.Optional(
        Type.Integer({ minimum: 0, description: "version of the parent; default: the latest" }),
      ),
    }),
  },
  reply: Type.Object({ transaction_id: transactionId }),
  access: accessTo("table", "create"),
  uses: ["catalog", "config", "engine", "maintenance", "multipart"],
  async handle(services, { id, payload }) {
    const { from_branch, from_version } = payload;
    const version = from_version === undefined ? undefined : checkVersion(from_version);
    await changingReferences(services, id, async ({ record, table }) => {
      // Uploads to a deleted branch of that name may remain if the server stopped during the deletion.
      const exists = (await table.listBranches()).some(({ name }) => name === payload.name);
      if (!exists) await services.multipart.endBranch(record.key, payload.name, Date.now());
      await onBranch(table, from_branch).createBranch(payload.name, version);
    });
    return { kind: "json", value: {} };
  },
});
