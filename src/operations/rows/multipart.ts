import { Type } from "@sinclair/typebox";
import { operation } from "../../api/operation.js";
import { branch, count, nothing, transactionId } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import type { Table } from "../../engine/index.js";
import { asJoustError, ErrorCode } from "../../foundation/errors.js";
import type { MultipartName } from "../../multipart/multipart.js";
import { removeOrphanedParts } from "../../multipart/orphaned-part-removal.js";
import { changingTable } from "../../tables/table-writes.js";
import { branchName, onBranch, versionHeader } from "../../tables/target.js";

const uploadId = Type.String({ minLength: 1, description: "as given when the upload was begun" });

const createMultipartWrite = operation({
  id: "CreateMultipartWrite",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/multipart_write/create",
  summary: "Begin a write whose parts are inserted one by one and become visible together",
  tag: "Table",
  params: Type.Object({ branch }),
  body: { kind: "json", schema: nothing },
  reply: Type.Object({ upload_id: Type.String() }),
  permission: "write",
  repeatable: true,
  unrecorded: true,
  handle: (services, { id, params }) =>
    changingTable(services, id, undefined, async ({ record, table }) => {
      const branch = branchName(params.branch);
      // Parts that fit an old schema only would be refused when it is too late.
      const fresh = { minTimestampMillis: Date.now() };
      const { version } = await onBranch(table, branch).describe(fresh);
      const upload_id = await services.multipart.begin({ table: record.key, branch, version });
      return { kind: "json", value: { upload_id } };
    }),
});

const completeMultipartWrite = operation({
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
  handle: (services, { id, params }) =>
    changingTable(services, id, undefined, async ({ record, table }) => {
      const branch = branchName(params.branch);
      const wanted = { id: params.upload_id, table: record.key, branch };
      const version = await complete(services, onBranch(table, branch), wanted);
      return { kind: "json", value: { version }, headers: versionHeader(version) };
    }),
});

const abortMultipartWrite = operation({
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
  handle: (services, { id, params }) =>
    changingTable(services, id, undefined, async ({ record }) => {
      const wanted = { id: params.upload_id, table: record.key, branch: branchName(params.branch) };
      // One that is being committed is past ending: its files may be a version's by now.
      const remains = await services.multipart.abandon(wanted, "open");
      if (remains) await removeOrphanedParts(services, remains);
      return { kind: "json", value: {} };
    }),
});

/** Commits of this process that are on their way, by upload. */
const onTheWay = new Map<string, Promise<number>>();

/** Several requests for one upload, as of a client that lost patience, share one commit. */
function complete(services: Services, table: Table, name: MultipartName): Promise<number> {
  const key = JSON.stringify([name.table, name.branch, name.id]);
  const known = onTheWay.get(key);
  if (known) return known;
  const work = commit(services, table, name).finally(() => onTheWay.delete(key));
  onTheWay.set(key, work);
  return work;
}

async function commit(services: Services, table: Table, name: MultipartName): Promise<number> {
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

export const multipart = [createMultipartWrite, completeMultipartWrite, abortMultipartWrite];
