import { Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation, type Reply } from "../../api/operation.js";
import { branch, count, predicate, version } from "../../api/schemas.js";
import { timeoutOf } from "../../api/time-left.js";
import { onTableAtHand } from "../../tables/open-table.js";
import { onBranch, readOptions } from "../../tables/target.js";

const countRequest = Type.Object({ version, branch, predicate: Type.Optional(predicate) });

export const countTableRows = operation({
  id: "CountTableRows",
  methods: ["GET", "POST"],
  path: "/v1/table/{id}/count_rows",
  summary: "Count a table's rows, or the rows for which a predicate is true",
  tag: "Table",
  params: countRequest,
  body: { kind: "json", schema: countRequest },
  reply: count,
  access: { ...accessTo("table", "select"), rows: ["select"] },
  limited: ["query"],
  uses: ["catalog", "config", "engine"],
  handle(services, call) {
    const request = { ...call.params, ...call.payload };
    const options = readOptions(request, call.fresh);
    const { predicate } = request;
    const reply = (rows: number): Reply => ({ kind: "json", value: rows });
    const rows = onTableAtHand(services, call.id, ({ table }) =>
      onBranch(table, request.branch).countRows({
        ...options,
        ...timeoutOf(call),
        ...(predicate !== undefined && { predicate }),
      }),
    );
    return typeof rows === "number" ? reply(rows) : rows.then(reply);
  },
});
