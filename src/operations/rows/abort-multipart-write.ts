import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { branch, nothing } from "../../api/schemas.js";
import { removeOrphanedParts } from "../../multipart/clean-up.js";
import { changingTable } from "../../tables/table-writes.js";
import { branchName } from "../../tables/target.js";
import { uploadId } from "./upload-id.js";

export const abortMultipartWrite = operation({
  id: "AbortMultipartWrite",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/multipart_write/abort",
  summary: "End an upload and remove what its parts wrote; harmless when it has ended",
  tag: "Table",
  params: Type.Object({ upload_id: uploadId, branch }),
  body: { kind: "json", schema: nothing },
  reply: Type.Object({}),
  permission: "write",
  repeatable: true,
  unrecorded: true,
  uses: ["catalog", "config", "engine", "log", "maintenance", "multipart"],
  handle: (services, { id, params }) =>
    changingTable(services, id, undefined, async ({ record }) => {
      const wanted = { id: params.upload_id, table: record.key, branch: branchName(params.branch) };
      // One that is being committed is past ending: its files may be a version's by now.
      const remains = await services.multipart.abandon(wanted, "open");
      if (remains) await removeOrphanedParts(services, remains);
      return { kind: "json", value: {} };
    }),
});
