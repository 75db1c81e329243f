import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation, type Reply } from "../../api/operation.js";
import { branch, transactionId } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import type { Table } from "../../engine/index.js";
import { ErrorCode, hasCode } from "../../foundation/errors.js";
import { buildStillRuns } from "../../jobs/failures.js";
import { changingTable } from "../../tables/table-writes.js";
import { branchName, onBranch, versionHeader } from "../../tables/target.js";
import { buildName } from "./index-request.js";

export const dropTableIndex = operation({
  id: "DropTableIndex",
  methods: ["POST"],
  path: "/v1/table/{id}/index/{index_name}/drop",
  summary: "Drop an index, and cancel its build if one is active",
  tag: "Index",
  params: Type.Object({ branch }),
  body: { kind: "json", schema: Type.Object({ branch }) },
  reply: Type.Object({ transaction_id: transactionId }),
  access: accessTo("table", "drop"),
  uses: ["catalog", "config", "engine", "jobs", "maintenance"],
  handle(services, { id, path, params, payload }) {
    const name = path.index_name as string;
    const branch = branchName(payload.branch ?? params.branch);
    return changingTable(services, id, undefined, ({ record, table }) =>
      dropIndexAndBuild(
        services,
        record.key,
        onBranch(table, branch),
        buildName(branch, name),
        name,
      ),
    );
  },
});

/** Drops the index and discards its build. It fails only if there is neither. */
async function dropIndexAndBuild(
  services: Pick<Services, "jobs">,
  key: string,
  table: Table,
  build: string,
  name: string,
): Promise<Reply> {
  const jobs = await services.jobs.list(key);
  if (!(await services.jobs.discard(key, build))) throw buildStillRuns(name);
  try {
    const { version } = await table.dropIndex(name);
    return { kind: "json", value: {}, headers: versionHeader(version) };
  } catch (error) {
    const listed = jobs.some((job) => job.name === build && job.state !== "DONE");
    if (listed && hasCode(error, ErrorCode.TableIndexNotFound)) return { kind: "json", value: {} };
    throw error;
  }
}
