import { Type } from "@sinclair/typebox";
import { cancellableTask } from "../../api/cancellable-task.js";
import { operation } from "../../api/operation.js";
import { branch, version } from "../../api/schemas.js";
import { onTable } from "../../tables/open-table.js";
import { onBranch, readOptions, versionHeader } from "../../tables/target.js";
import { checkRow } from "./row-id.js";

export const fetchTableBlobs = operation({
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
  uses: ["catalog", "config", "engine"],
  async handle(services, call) {
    const { column, row_ids, branch } = call.payload;
    const options = readOptions(call.payload, call.fresh);
    const found = await onTable(services, call.id, ({ table }) =>
      onBranch(table, branch).fetchBlobs(
        column,
        row_ids.map(checkRow),
        options,
        cancellableTask(call),
      ),
    );
    return {
      kind: "bytes",
      contentType: "application/vnd.apache.arrow.stream",
      bytes: found.bytes,
      headers: versionHeader(found.version),
    };
  },
});
