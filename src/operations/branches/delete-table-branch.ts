import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { nothing, transactionId } from "../../api/schemas.js";
import { buildStillRuns } from "../../jobs/failures.js";
import { changingReferences } from "../../tables/table-writes.js";
import { buildsOnBranch } from "../indexes/index-entries.js";
import { buildName } from "../indexes/index-request.js";
import { branchNameSchema } from "./branch-name.js";

export const deleteTableBranch = operation({
  id: "DeleteTableBranch",
  methods: ["POST"],
  path: "/v1/table/{id}/branches/delete",
  summary: "Delete a branch and the files that only it refers to",
  tag: "Branch",
  params: nothing,
  body: { kind: "json", schema: Type.Object({ name: branchNameSchema }) },
  reply: Type.Object({ transaction_id: transactionId }),
  access: accessTo("table", "drop"),
  uses: ["catalog", "config", "engine", "jobs", "maintenance", "multipart"],
  async handle(services, { id, payload }) {
    await changingReferences(services, id, async ({ record, table }) => {
      // An index build would write files of the deleted branch.
      const builds = buildsOnBranch(await services.jobs.list(record.key), payload.name);
      for (const { name } of builds) {
        if (await services.jobs.discard(record.key, name)) continue;
        throw buildStillRuns(name.slice(buildName(payload.name, "").length));
      }
      await table.deleteBranch(payload.name);
      // A later branch may have the same name: it must not get the parts of uploads to this one.
      await services.multipart.endBranch(record.key, payload.name, Date.now());
    });
    return { kind: "json", value: {} };
  },
});
