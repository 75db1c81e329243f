import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { nothing, transactionId } from "../../api/schemas.js";
import { changingReferences } from "../../tables/table-writes.js";
import { checkVersion, onBranch } from "../../tables/target.js";
import { name } from "./branch-name.js";

export const createTableBranch = operation({
  id: "CreateTableBranch",
  methods: ["POST"],
  path: "/v1/table/{id}/branches/create",
  summary: "Begin a branch at a version of another",
  tag: "Branch",
  params: nothing,
  body: {
    kind: "json",
    schema: Type.Object({
      name,
      from_branch: Type.Optional(Type.String({ description: "branch to begin on; default: main" })),
      from_version: Type.Optional(
        Type.Integer({ minimum: 0, description: "version to begin at; default: the newest" }),
      ),
    }),
  },
  reply: Type.Object({ transaction_id: transactionId }),
  permission: "write",
  uses: ["catalog", "config", "engine", "maintenance", "multipart"],
  async handle(services, { id, payload }) {
    const { from_branch, from_version } = payload;
    const version = from_version === undefined ? undefined : checkVersion(from_version);
    await changingReferences(services, id, async ({ record, table }) => {
      // Of a branch that had the name before: the server may have stopped while it was deleted.
      const isThere = (await table.listBranches()).some(({ name }) => name === payload.name);
      if (!isThere) await services.multipart.endBranch(record.key, payload.name, Date.now());
      await onBranch(table, from_branch).createBranch(payload.name, version);
    });
    return { kind: "json", value: {} };
  },
});
