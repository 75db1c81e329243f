import { pathToFileURL } from "node:url";
import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation, type Reply } from "../../api/operation.js";
import { branch, version } from "../../api/schemas.js";
import type { Table } from "../../engine/index.js";
import { isRemote } from "../../foundation/addresses.js";
import { invalidInput } from "../../foundation/errors.js";
import { onTable, versionsOf } from "../../tables/open-table.js";
import {
  branchName,
  checkVersion,
  onBranch,
  readOptions,
  versionHeader,
} from "../../tables/target.js";
import { readByteRange } from "./byte-range.js";
import { checkRowId } from "./row-id.js";

export const getTableBlobBytes = operation({
  id: "GetTableBlobBytes",
  dialect: "lancedb",
  methods: ["GET"],
  path: "/v1/table/{id}/blob/{column}/{row_id}/bytes",
  summary: "Read one value of a binary or blob column, completely or one range of it",
  tag: "Table",
  params: Type.Object({
    version,
    branch,
    row_is_address: Type.Optional(
      Type.Boolean({ description: "the row in the path is a _rowaddr, not a _rowid" }),
    ),
    source_uri: Type.Optional(
      Type.String({
        description:
          "location of the table that holds the value, or of its branch; must be this table and `branch`",
      }),
    ),
    source_commit_micros: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: "when `version` was committed, us since the epoch; refuses another table",
      }),
    ),
  }),
  body: { kind: "none" },
  access: { ...accessTo("table", "select"), rows: ["select"] },
  limited: ["query"],
  uses: ["catalog", "config", "engine"],
  async handle(services, call): Promise<Reply> {
    const { params } = call;
    const row = checkRowId(Number(/^\d+$/.exec(call.path.row_id ?? "")?.[0] ?? Number.NaN));
    const options = readOptions(params, call.fresh);
    const blob = await onTable(services, call.id, async ({ record, table }) => {
      checkSourceUri(params.source_uri, record.location, branchName(params.branch));
      await checkCommitTime(onBranch(versionsOf(services, record), params.branch), params);
      const source = onBranch(table, params.branch);
      const isAddress = params.row_is_address ?? false;
      return source.blob(call.path.column ?? "", row, isAddress, options, call.timeLeftMs);
    });
    const headers = { ...versionHeader(blob.version), "accept-ranges": "bytes" };
    const empty = (more: Omit<Extract<Reply, { kind: "empty" }>, "kind">): Reply => {
      blob.end();
      return { kind: "empty", ...more };
    };
    if (blob.size == null) return empty({ status: 204, headers });
    const range = readByteRange(call.header("range"), blob.size);
    if (range === "unsatisfiable") {
      return empty({
        status: 416,
        headers: { ...headers, "content-range": `bytes */${blob.size}` },
      });
    }
    if (range === undefined && blob.size === 0) return empty({ headers });
    const [start, end] = range ?? [0, blob.size];
    return {
      kind: "blob",
      contentType: "application/octet-stream",
      source: blob,
      start,
      end,
      ...(range
        ? {
            status: 206,
            headers: { ...headers, "content-range": `bytes ${start}-${end - 1}/${blob.size}` },
          }
        : { headers }),
    };
  },
});

/** The server reads values only from the table in the path. @throws code 13 */
function checkSourceUri(uri: string | undefined, location: string, branch: string | undefined) {
  if (uri === undefined || uri === "") return;
  const path = branch === undefined ? location : `${location}/tree/${branch}`;
  const accepted = isRemote(path) ? [path] : [path, `file://${path}`, pathToFileURL(path).href];
  if (accepted.includes(uri)) return;
  throw invalidInput(
    "source_uri must be the location of this table, or of the branch that `branch` names: leave it out",
  );
}

/**
 * A table that was dropped and created again has the same location and the same version numbers.
 *
 * @throws code 13 if the version was committed at another time
 */
async function checkCommitTime(
  table: Pick<Table, "describeVersion">,
  { version, source_commit_micros: micros }: { version?: number; source_commit_micros?: number },
): Promise<void> {
  if (micros === undefined) return;
  if (version === undefined) {
    throw invalidInput("source_commit_micros needs `version`: it is the time of that version");
  }
  const { timestampMillis } = await table.describeVersion(checkVersion(version));
  if (timestampMillis === Math.floor(micros / 1_000)) return;
  throw invalidInput(
    "the version was committed at another time than source_commit_micros: the table was replaced, so query it again",
  );
}
