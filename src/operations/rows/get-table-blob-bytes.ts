import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation, type Reply } from "../../api/operation.js";
import { branch, version } from "../../api/schemas.js";
import { invalidInput } from "../../foundation/errors.js";
import { onTable } from "../../tables/open-table.js";
import { onBranch, readOptions, versionHeader } from "../../tables/target.js";
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
        description: "location of the table that holds the value; must be this table",
      }),
    ),
  }),
  body: { kind: "none" },
  access: accessTo("table", "select"),
  uses: ["catalog", "config", "engine"],
  async handle(services, call): Promise<Reply> {
    const { params } = call;
    const row = checkRowId(Number(/^\d+$/.exec(call.path.row_id ?? "")?.[0] ?? Number.NaN));
    const options = readOptions(params, call.fresh);
    const blob = await onTable(services, call.id, ({ record, table }) => {
      checkSourceUri(params.source_uri, record.location);
      const address = params.row_is_address ?? false;
      return onBranch(table, params.branch).blob(call.path.column ?? "", row, address, options);
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

/** The server reads values only from the table in the path. */
function checkSourceUri(uri: string | undefined, location: string): void {
  if (uri === undefined || uri === "" || uri.replace(/^file:\/\//, "") === location) return;
  throw invalidInput("source_uri must be the location of this table: leave it out");
}
