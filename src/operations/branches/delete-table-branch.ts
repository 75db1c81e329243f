import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { nothing, transactionId } from "../../api/schemas.js";
import { changingReferences } from "../../tables/table-writes.js";
import { buildsOn } from "../indexes/index-entries.js";
import { name } from "./branch-name.js";

export const deleteTableBranch = operation({
  id: "DeleteTableBranch",
  methods: ["POST"],
  path: "/v1/table/{id}/branches/delete",
  summary: "Delete a branch and what only it holds",
  tag: "Branch",
  params: nothing,
  body: { kind: "json", schema: Type.Object({ name }) },
  reply: Type.Object({ transaction_id: transactionId }),
  permission: "write",
  uses: ["catalog", "config", "engine", "jobs", "maintenance", "multipart"],
  async handle(services, { id, payload }) {
    await changingReferences(services, id, async ({ record, table }) => {
      // A build would write files of a branch that is no more.
      const builds = buildsOn(await services.jobs.list(record.key), payload.name);
      for (const build of builds) await services.jobs.discard(record.key, build.name);
      await table.deleteBranch(payload.name);
      // Another branch may have the name next: parts of an upload to this one are none of its.
      await services.multipart.endBranch(record.key, payload.name, Date.now());
    });
    return { kind: "json", value: {} };
  },
});
