import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { cancellableTask } from "../../api/cancellable-task.js";
import { operation } from "../../api/operation.js";
import { branch, version } from "../../api/schemas.js";
import { onTable } from "../../tables/open-table.js";
import { onBranch, readOptions, versionHeader } from "../../tables/target.js";
import { checkRowId } from "./row-id.js";

export const fetchTableBlobs = operation({
  id: "FetchTableBlobs",
  dialect: "lancedb",
  methods: ["POST"],
  path: "/v1/table/{id}/fetch_blobs/",
  summary: "Read complete values of a binary or blob column; the reply is Arrow IPC",
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
        description: "values of _rowid in query results",
      }),
    }),
  },
  access: { ...accessTo("table", "select"), rows: ["select"] },
  limited: ["query"],
  uses: ["catalog", "config", "engine"],
  async handle(services, call) {
    const { column, row_ids, branch } = call.payload;
    const options = readOptions(call.payload, call.fresh);
    const blobs = await onTable(services, call.id, ({ table }) =>
      onBranch(table, branch).fetchBlobs(
        column,
        row_ids.map(checkRowId),
        options,
        cancellableTask(call),
      ),
    );
    return {
      kind: "bytes",
      contentType: "application/vnd.apache.arrow.stream",
      bytes: blobs.bytes,
      headers: versionHeader(blobs.version),
    };
  },
});
