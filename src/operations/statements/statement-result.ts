import type { QueryAnswer, SqlColumn } from "../../engine/index.js";
import type { SqlFormat } from "../queries/sql-statement.js";
import type { Change } from "./change.js";
import { waitForJob } from "./job-end.js";
import type { JsonReply, StatementRun, StatementServices } from "./statement-run.js";

/** The rows of a statement, and the headers of its reply. */
export interface StatementResult {
  /** Columns of the same length. None: the result has neither columns nor rows. */
  readonly columns: SqlColumn[];
  readonly headers: Readonly<Record<string, string>>;
}

/** The column of a statement that changes rows, and of one that enqueued a job. */
const COUNT = "count";
const JOB_ID = "job_id";

/** The columns of DESCRIBE MATERIALIZED VIEW and SHOW MATERIALIZED VIEWS. */
export const VIEW_QUERY = "query";
export const VIEW_NAME = "name";

/** The headers of an operation's reply that the reply to the statement has too. */
const passed = ["x-transaction-id", "x-lancedb-version"];

const passedHeaders = ({ headers }: Pick<JsonReply, "headers">): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => passed.includes(name)));

/** The result of a statement that changes rows: their number. */
export const counted = (reply: JsonReply, ...members: readonly string[]): StatementResult => {
  const count = members.reduce((sum, member) => sum + (reply.value[member] as number), 0);
  return { columns: [{ name: COUNT, numbers: [count] }], headers: passedHeaders(reply) };
};

/** The result of a statement that changes names or columns: nothing. */
export const done = (reply?: JsonReply): StatementResult => ({
  columns: [],
  headers: reply === undefined ? {} : passedHeaders(reply),
});

/** The result of a statement that lists texts. */
export const listed = (name: string, texts: readonly string[]): StatementResult => ({
  columns: [{ name, texts: [...texts] }],
  headers: {},
});

/** The result of a statement that enqueued a job: waits for its end, unless the caller wants only its id. */
export async function afterJob(
  { services, call }: StatementRun,
  reply: JsonReply,
  id: string,
): Promise<StatementResult> {
  const headers = passedHeaders(reply);
  if (call.respondAsync) {
    return {
      columns: [{ name: JOB_ID, texts: [id] }],
      headers: { ...headers, "preference-applied": "respond-async" },
    };
  }
  await waitForJob(services.jobs, id, (work) => call.onAbort(work));
  return { columns: [], headers };
}

/** The columns of a statement's result, without values. `respondAsync`: the caller does not wait for a job. */
export function resultColumns({ kind }: Change, respondAsync: boolean): SqlColumn[] {
  switch (kind) {
    case "insert":
    case "delete":
    case "update":
    case "merge":
      return [{ name: COUNT, numbers: [] }];
    case "describe_view":
      return [{ name: VIEW_QUERY, texts: [] }];
    case "show_views":
      return [{ name: VIEW_NAME, texts: [] }];
    case "create_index":
    case "create_view":
    case "refresh_view":
      return respondAsync ? [{ name: JOB_ID, texts: [] }] : [];
    default:
      return [];
  }
}

/** The number of changed rows, if that is the result. */
export function countOf({ columns }: StatementResult): number | undefined {
  const [column] = columns;
  return columns.length === 1 && column?.name === COUNT ? column.numbers?.[0] : undefined;
}

/** A result in the format of the reply. */
export const encodeResult = (
  { engine }: Pick<StatementServices, "engine">,
  { columns }: StatementResult,
  format: SqlFormat,
): Promise<QueryAnswer> => engine.sqlResult(columns, format);
