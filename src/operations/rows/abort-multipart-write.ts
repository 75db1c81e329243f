import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { branch, nothing } from "../../api/schemas.js";
import { removeOrphanedParts } from "../../multipart/orphaned-part-removal.js";
import { changingTable } from "../../tables/table-writes.js";
import { branchName } from "../../tables/target.js";
import { uploadId } from "./upload-id.js";

export const abortMultipartWrite = operation({
  id: "AbortMultipartWrite",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/multipart_write/abort",
  summary: "Abort an upload and remove the files of its parts; no effect after its end",
  tag: "Table",
  params: Type.Object({ upload_id: uploadId, branch }),
  body: { kind: "json", schema: nothing },
  reply: Type.Object({}),
  access: { ...accessTo("table", "insert"), rows: ["insert"] },
  repeatable: true,
  unrecorded: true,
  uses: ["catalog", "config", "engine", "log", "maintenance", "multipart"],
  handle: (services, { id, params }) =>
    changingTable(services, id, undefined, async ({ record }) => {
      const name = { id: params.upload_id, table: record.key, branch: branchName(params.branch) };
      // Not in state `committing`: a version may already refer to the files.
      const remains = await services.multipart.abandon(name, "open");
      if (remains) await removeOrphanedParts(services, remains);
      return { kind: "json", value: {} };
    }),
});
