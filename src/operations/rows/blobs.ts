import { Type } from "@sinclair/typebox";
import { operation, type Reply } from "../../api/operation.js";
import { branch, version } from "../../api/schemas.js";
import { taskOf } from "../../api/task-of.js";
import { invalidInput } from "../../foundation/errors.js";
import { onTable } from "../../tables/open-table.js";
import { onBranch, readOptions, versionHeader } from "../../tables/target.js";
import { byteRange } from "./byte-range.js";

const fetchBlobs = operation({
  id: "FetchTableBlobs",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/fetch_blobs/",
  summary: "Read whole values of a binary or blob column; the reply is Arrow IPC",
  tag: "Table",
  params: Type.Object({}),
  body: {
    kind: "json",
    schema: Type.Object({
      version,
      branch,
      column: Type.String({ minLength: 1 }),
      row_ids: Type.Array(Type.Integer({ minimum: 0 }), {
        maxItems: 1024,
        description: "as queries give them in _rowid",
      }),
    }),
  },
  permission: "read",
  async handle(services, call) {
    const { column, row_ids, branch } = call.payload;
    const options = readOptions(call.payload, call.fresh);
    const found = await onTable(services, call.id, ({ table }) =>
      onBranch(table, branch).fetchBlobs(column, row_ids.map(checkRow), options, taskOf(call)),
    );
    return {
      kind: "bytes",
      contentType: "application/vnd.apache.arrow.stream",
      bytes: found.bytes,
      headers: versionHeader(found.version),
    };
  },
});

const getBlobBytes = operation({
  id: "GetTableBlobBytes",
  dialect: "lancedb",
  methods: ["GET"],
  path: "/v1/table/{id}/blob/{column}/{row_id}/bytes",
  summary: "Read a value of a binary or blob column, whole or the range that is asked for",
  tag: "Table",
  params: Type.Object({
    version,
    branch,
    row_is_address: Type.Optional(
      Type.Boolean({ description: "the row in the path is a _rowaddr, not a _rowid" }),
    ),
    source_uri: Type.Optional(
      Type.String({ description: "location of the table that holds the value: this one" }),
    ),
  }),
  body: { kind: "none" },
  permission: "read",
  async handle(services, call): Promise<Reply> {
    const { params } = call;
    const row = checkRow(Number(/^\d+$/.exec(call.path.row_id ?? "")?.[0] ?? Number.NaN));
    const options = readOptions(params, call.fresh);
    const blob = await onTable(services, call.id, ({ record, table }) => {
      checkSource(params.source_uri, record.location);
      const address = params.row_is_address ?? false;
      return onBranch(table, params.branch).blob(call.path.column ?? "", row, address, options);
    });
    const headers = { ...versionHeader(blob.version), "accept-ranges": "bytes" };
    const empty = (more: Omit<Extract<Reply, { kind: "empty" }>, "kind">): Reply => {
      blob.end();
      return { kind: "empty", ...more };
    };
    if (blob.size == null) return empty({ status: 204, headers });
    const range = byteRange(call.header("range"), blob.size);
    if (range === "unsatisfiable") {
      const told = { ...headers, "content-range": `bytes */${blob.size}` };
      return empty({ status: 416, headers: told });
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

/** JSON numbers beyond 2^53 may have been others when they were sent. */
function checkRow(row: number): number {
  if (Number.isSafeInteger(row)) return row;
  throw invalidInput(
    "a row id is a whole number from 0 to 2^53 - 1, as queries give them in _rowid",
  );
}

/** Values are read from the table in the path only, whatever a client says where they are. */
function checkSource(uri: string | undefined, location: string): void {
  if (uri === undefined || uri === "" || uri.replace(/^file:\/\//, "") === location) return;
  throw invalidInput("source_uri is not the location of this table: leave it out");
}

export const blobs = [fetchBlobs, getBlobBytes];
