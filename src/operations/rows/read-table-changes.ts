import { type Static, Type } from "@sinclair/typebox";
import { accessTo } from "../../api/access.js";
import { type Call, operation } from "../../api/operation.js";
import { branch, nothing } from "../../api/schemas.js";
import { timeoutOf } from "../../api/time-left.js";
import { cancelQuery } from "../../engine/index.js";
import { ErrorCode, invalidInput, JoustError } from "../../foundation/errors.js";
import { mergeObjects } from "../../foundation/merge-objects.js";
import { onTable, type TableVersions, versionsOf } from "../../tables/open-table.js";
import { branchName, checkVersion, onBranch, versionHeader } from "../../tables/target.js";
import { nextQueryNumber } from "../queries/query-number.js";
import { FILE, STREAM } from "../queries/query-options.js";
import { type ChangeCursor, decodeCursor, encodeCursor, filterDigest } from "./change-cursor.js";

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
  access: { ...accessTo("table", "select"), rows: ["select"] },
  limited: ["query"],
  uses: ["catalog", "config", "engine"],
  async handle(services, call) {
    const { payload } = call;
    const format = call.header("accept").includes(FILE) ? "file" : "stream";
    const number = nextQueryNumber();
    const { answer, place } = await onTable(services, call.id, async ({ record, table }) => {
      const versions = versionsOf(services, record);
      const place = {
        table: record.key,
        branch: await branchIdentity(versions, payload.branch),
        filter: filterDigest(record.restriction?.filters),
      };
      const options = {
        fromVersion: firstVersion(payload, place),
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
      const answer = await running;
      try {
        // The caller may have lost the table, or some of its rows, while it waited.
        if (options.waitMillis > 0) await checkAccess(call, place);
        if ((await branchIdentity(versions, payload.branch)) !== place.branch) throw otherPlace();
      } catch (error) {
        answer.rest?.cancel();
        throw error;
      }
      return { answer, place };
    });
    return {
      kind: "arrow",
      contentType: format === "file" ? FILE : STREAM,
      answer,
      headers: {
        ...versionHeader(answer.version),
        "x-joust-cursor": encodeCursor({ ...place, version: answer.version }),
      },
    };
  },
});

/** @throws code 15 if the caller may no longer read the table, 19 if it may read other rows now */
async function checkAccess(call: Call<unknown, unknown>, { filter }: Place): Promise<void> {
  const { services } = await call.authorize(readTableChanges, call);
  const { restriction } = await services.catalog.table(call.id);
  if (filterDigest(restriction?.filters) !== filter) throw otherRows();
}

type Place = Omit<ChangeCursor, "version">;

/** @throws code 22 for a branch that does not exist */
async function branchIdentity(table: TableVersions, name: string | undefined): Promise<string> {
  const branchOf = branchName(name);
  if (branchOf === undefined) return "";
  const branches = await table.listBranches();
  const branch = branches.find((one) => one.name === branchOf);
  if (branch) return branch.identity;
  throw new JoustError(
    ErrorCode.TableBranchNotFound,
    `branch ${JSON.stringify(branchOf)} does not exist`,
  );
}

/** @throws code 13 without a start, 19 for a cursor of another table, branch or row filter */
function firstVersion({ cursor, from_version }: Static<typeof request>, place: Place): number {
  if ((cursor === undefined) === (from_version === undefined)) {
    throw invalidInput("give either cursor or from_version; from_version 0 reads all rows");
  }
  if (cursor === undefined) return checkVersion(from_version as number);
  const { version, table, branch, filter } = decodeCursor(cursor);
  if (table !== place.table || branch !== place.branch) throw otherPlace();
  if (filter !== place.filter) throw otherRows();
  return version;
}

const otherRows = (): JoustError =>
  new JoustError(
    ErrorCode.InvalidTableState,
    "the row filter of the caller has changed: read all rows with from_version 0",
  );

const otherPlace = (): JoustError =>
  new JoustError(
    ErrorCode.InvalidTableState,
    "the cursor belongs to another branch, or to a table or branch of this name that was dropped: read all rows with from_version 0",
  );
