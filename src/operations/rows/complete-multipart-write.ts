import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { branch, count, nothing, transactionId } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import type { Table } from "../../engine/index.js";
import { asJoustError, ErrorCode } from "../../foundation/errors.js";
import type { MultipartName } from "../../multipart/multipart.js";
import { removeOrphanedParts } from "../../multipart/orphaned-part-removal.js";
import { changingTable } from "../../tables/table-writes.js";
import { branchName, onBranch, versionHeader } from "../../tables/target.js";
import { toReplaceRows } from "./replace-access.js";
import { uploadId } from "./upload-id.js";

export const completeMultipartWrite = operation({
  id: "CompleteMultipartWrite",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/multipart_write/complete",
  summary:
    "Commit the rows of all parts of an upload in one version; a repetition returns the same version",
  tag: "Table",
  params: Type.Object({ upload_id: uploadId, branch }),
  body: { kind: "json", schema: nothing },
  reply: Type.Object({ transaction_id: transactionId, version: count }),
  access: {
    ...accessTo("table", "insert"),
    sometimes: ["update", "delete"],
    // The rows were checked when their parts arrived.
    rows: ["insert"],
    // The caller need not be the one that sent the parts.
    also: async ({ id, params }, { catalog, multipart }) => {
      const { key } = await catalog.table(id);
      const name = { id: params.upload_id, table: key, branch: branchName(params.branch) };
      return (await multipart.replacesRows(name)) ? toReplaceRows(id) : [];
    },
  },
  limited: ["storage"],
  mainThreadOnly: true,
  repeatable: true,
  uses: ["catalog", "config", "engine", "log", "maintenance", "multipart"],
  handle: (services, { id, params }) =>
    changingTable(services, id, undefined, async ({ record, table }) => {
      const branch = branchName(params.branch);
      const name = { id: params.upload_id, table: record.key, branch };
      const version = await completeOnce(services, onBranch(table, branch), name);
      return { kind: "json", value: { version }, headers: versionHeader(version) };
    }),
});

/** The commits that this process runs, by upload. */
const inProgress = new Map<string, Promise<number>>();

/** Concurrent requests for one upload share one commit: a client may send a second request after a timeout. */
async function completeOnce(
  services: Pick<Services, "catalog" | "config" | "engine" | "log" | "multipart">,
  table: Table,
  name: MultipartName,
): Promise<number> {
  const key = JSON.stringify([name.table, name.branch, name.id]);
  const running = inProgress.get(key);
  if (running) return running;
  const commit = commitUpload(services, table, name).finally(() => inProgress.delete(key));
  inProgress.set(key, commit);
  return commit;
}

async function commitUpload(
  services: Pick<Services, "catalog" | "config" | "engine" | "log" | "multipart">,
  table: Table,
  name: MultipartName,
): Promise<number> {
  const { multipart } = services;
  const completion = await multipart.complete(name);
  if ("version" in completion) return completion.version;
  const { upload, overwrite, parts, retried } = completion;
  const { id, version: start } = upload;
  const earlier = retried ? await table.committedParts(id, start, parts) : null;
  const committed = earlier ?? table.commitParts({ id, version: start, overwrite, parts });
  const version = await Promise.resolve(committed).catch(async (error) => {
    if (permanentCodes.has(asJoustError(error).code)) {
      const remains = await multipart.abandon(name, "committing");
      if (remains) await removeOrphanedParts(services, remains);
    }
    throw error;
  });
  await multipart.committed(id, version);
  return version;
}

/** The codes of failures that a retry with the same parts meets again. */
const permanentCodes: ReadonlySet<ErrorCode> = new Set([
  ErrorCode.InvalidInput,
  ErrorCode.InvalidTableState,
  ErrorCode.TableBranchNotFound,
  ErrorCode.TableColumnNotFound,
  ErrorCode.TableSchemaValidationError,
]);
