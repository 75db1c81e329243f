import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { branch, count, nothing, transactionId } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import type { Table } from "../../engine/index.js";
import { asJoustError, ErrorCode } from "../../foundation/errors.js";
import { removeOrphanedParts } from "../../multipart/clean-up.js";
import type { MultipartName } from "../../multipart/multipart.js";
import { changingTable } from "../../tables/table-writes.js";
import { branchName, onBranch, versionHeader } from "../../tables/target.js";
import { uploadId } from "./upload-id.js";

export const completeMultipartWrite = operation({
  id: "CompleteMultipartWrite",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/multipart_write/complete",
  summary: "Make the rows of all parts of an upload visible, in one version; again: the same one",
  tag: "Table",
  params: Type.Object({ upload_id: uploadId, branch }),
  body: { kind: "json", schema: nothing },
  reply: Type.Object({ transaction_id: transactionId, version: count }),
  permission: "write",
  mainThreadOnly: true,
  repeatable: true,
  uses: ["catalog", "config", "engine", "log", "maintenance", "multipart"],
  handle: (services, { id, params }) =>
    changingTable(services, id, undefined, async ({ record, table }) => {
      const branch = branchName(params.branch);
      const wanted = { id: params.upload_id, table: record.key, branch };
      const version = await complete(services, onBranch(table, branch), wanted);
      return { kind: "json", value: { version }, headers: versionHeader(version) };
    }),
});

/** Commits of this process that are on their way, by upload. */
const onTheWay = new Map<string, Promise<number>>();

/** Several requests for one upload, as of a client that lost patience, share one commit. */
function complete(
  services: Pick<Services, "catalog" | "config" | "engine" | "log" | "multipart">,
  table: Table,
  name: MultipartName,
): Promise<number> {
  const key = JSON.stringify([name.table, name.branch, name.id]);
  const known = onTheWay.get(key);
  if (known) return known;
  const work = commit(services, table, name).finally(() => onTheWay.delete(key));
  onTheWay.set(key, work);
  return work;
}

async function commit(
  services: Pick<Services, "catalog" | "config" | "engine" | "log" | "multipart">,
  table: Table,
  name: MultipartName,
): Promise<number> {
  const { multipart } = services;
  const found = await multipart.complete(name);
  if ("version" in found) return found.version;
  const { upload, overwrite, parts, retried } = found;
  const { id, version: began } = upload;
  const earlier = retried ? await table.committedParts(id, began, parts) : null;
  const made = earlier ?? table.commitParts({ id, version: began, overwrite, parts });
  const version = await Promise.resolve(made).catch(async (error) => {
    if (lasting.has(asJoustError(error).code)) {
      const remains = await multipart.abandon(name, "committing");
      if (remains) await removeOrphanedParts(services, remains);
    }
    throw error;
  });
  await multipart.committed(id, version);
  return version;
}

/** Failures that the same parts would meet again. */
const lasting: ReadonlySet<ErrorCode> = new Set([
  ErrorCode.InvalidInput,
  ErrorCode.InvalidTableState,
  ErrorCode.TableBranchNotFound,
  ErrorCode.TableColumnNotFound,
  ErrorCode.TableSchemaValidationError,
]);
