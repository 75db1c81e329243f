import { type Static, Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { operation } from "../../api/operation.js";
import { branch, nothing } from "../../api/schemas.js";
import { timeoutOf } from "../../api/time-left.js";
import type { TableRecord } from "../../catalog/catalog.js";
import { cancelQuery } from "../../engine/index.js";
import { ErrorCode, invalidInput, JoustError } from "../../foundation/errors.js";
import { mergeObjects } from "../../foundation/merge-objects.js";
import { onTable } from "../../tables/open-table.js";
import { checkVersion, onBranch, versionHeader } from "../../tables/target.js";
import { nextQueryNumber } from "../queries/query-number.js";
import { FILE, STREAM } from "../queries/query-options.js";
import { decodeCursor, encodeCursor } from "./change-cursor.js";

/** The longest wait for a new version, ms: proxies often close connections that are idle for a minute. */
const MAX_WAIT = 50_000;

const request = Type.Object({
  cursor: Type.Optional(
    Type.String({
      description: "header x-joust-cursor of the former reply; instead of from_version",
    }),
  ),
  from_version: Type.Optional(
    Type.Integer({ minimum: 0, description: "changes after this version; 0 reads all rows" }),
  ),
  to_version: Type.Optional(
    Type.Integer({ minimum: 1, description: "last version to read; default: the newest" }),
  ),
  branch,
  columns: Type.Optional(
    Type.Array(Type.String(), { description: "columns of the table to return; default: all" }),
  ),
  wait_ms: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_WAIT,
      description: "how long to wait for a new version if there is none; default 0",
    }),
  ),
});

export const readTableChanges = operation({
  id: "ReadTableChanges",
  methods: ["POST"],
  path: "/v1/table/{id}/changes",
  summary: "Read the rows that were inserted, updated or deleted after a version, as Arrow IPC",
  tag: "Table",
  params: nothing,
  body: { kind: "json", schema: request },
  access: accessTo("table", "select"),
  limited: ["query"],
  uses: ["catalog", "config", "engine"],
  async handle(services, call) {
    const { payload } = call;
    const format = call.header("accept").includes(FILE) ? "file" : "stream";
    const number = nextQueryNumber();
    const { answer, record } = await onTable(services, call.id, async ({ record, table }) => {
      const options = {
        fromVersion: firstVersion(payload, record),
        waitMillis: payload.wait_ms ?? 0,
        format,
        number,
        ...timeoutOf(call),
        ...(payload.to_version !== undefined && { toVersion: checkVersion(payload.to_version) }),
        ...(payload.columns !== undefined && { columns: payload.columns }),
      } as const;
      const running = onBranch(table, payload.branch).changes(mergeObjects(options, call.fresh));
      // After the start, because only a running query can be cancelled. Runs at once if the client has disconnected.
      call.onAbort(() => cancelQuery(number));
      return { answer: await running, record };
    });
    const cursor = encodeCursor({ table: record.key, version: answer.version });
    return {
      kind: "arrow",
      contentType: format === "file" ? FILE : STREAM,
      answer,
      headers: { ...versionHeader(answer.version), "x-joust-cursor": cursor },
    };
  },
});

/** @throws code 13 without a start, 19 for a cursor of a dropped table */
function firstVersion(
  { cursor, from_version }: Static<typeof request>,
  record: TableRecord,
): number {
  if ((cursor === undefined) === (from_version === undefined)) {
    throw invalidInput("give either cursor or from_version; from_version 0 reads all rows");
  }
  if (cursor === undefined) return checkVersion(from_version as number);
  const { table, version } = decodeCursor(cursor);
  if (table === record.key) return version;
  throw new JoustError(
    ErrorCode.InvalidTableState,
    "the cursor belongs to a table of this name that was dropped: read all rows with from_version 0",
  );
}
