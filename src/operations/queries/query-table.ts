import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";
import { cancelQuery } from "../../engine/index.js";
import { mergeObjects } from "../../foundation/merge-objects.js";
import { onTableAtHand } from "../../tables/open-table.js";
import { versionHeader } from "../../tables/target.js";
import { queryKind } from "./query-kind.js";
import { nextQueryNumber } from "./query-number.js";
import { FILE, queryOptions, STREAM } from "./query-options.js";
import { queryRequest } from "./query-request.js";

export const queryTable = operation({
  id: "QueryTable",
  methods: ["POST"],
  path: "/v1/table/{id}/query",
  summary: "Search a table by vector or filter; the reply is Arrow IPC",
  tag: "Table",
  params: nothing,
  body: { kind: "raw-json", schema: queryRequest },
  access: { ...accessTo("table", "select"), rows: ["select"] },
  limited: ["query"],
  queryKind,
  uses: ["catalog", "config", "engine"],
  async handle(services, call) {
    const options = queryOptions(call);
    const number = nextQueryNumber();
    const answer = await onTableAtHand(services, call.id, ({ table }) => {
      const running = table.query(call.payload, mergeObjects(options, { number }));
      // After the start, because only a running query can be cancelled. Runs at once if the client has disconnected.
      call.onAbort(() => cancelQuery(number));
      return running;
    });
    return {
      kind: "arrow",
      contentType: options.format === "stream" ? STREAM : FILE,
      answer,
      headers: versionHeader(answer.version),
    };
  },
});
