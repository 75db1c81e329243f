import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { branch, nothing } from "../../api/schemas.js";
import { versionsOf } from "../../tables/open-table.js";
import { changingTable } from "../../tables/table-writes.js";
import { branchName, onBranch } from "../../tables/target.js";

export const createMultipartWrite = operation({
  id: "CreateMultipartWrite",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/multipart_write/create",
  summary: "Start a multipart write: its parts are inserted one by one and become visible together",
  tag: "Table",
  params: Type.Object({ branch }),
  body: { kind: "json", schema: nothing },
  reply: Type.Object({ upload_id: Type.String() }),
  access: { ...accessTo("table", "insert"), rows: ["insert"] },
  repeatable: true,
  unrecorded: true,
  uses: ["catalog", "config", "engine", "maintenance", "multipart"],
  handle: (services, { id, params }) =>
    changingTable(services, id, undefined, async ({ record }) => {
      const branch = branchName(params.branch);
      // With an old schema the server would accept parts that it must refuse at the end.
      const latest = { minTimestampMillis: Date.now() };
      const { version } = await onBranch(versionsOf(services, record), branch).describe(latest);
      const upload_id = await services.multipart.begin({ table: record.key, branch, version });
      return { kind: "json", value: { upload_id } };
    }),
});
