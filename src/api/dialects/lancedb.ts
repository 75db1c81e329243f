/**
 * What the LanceDB SDKs send and expect in remote mode, told by the slash at the end of the path.
 * The query body's form is the engine's to know.
 */
import { tablesPageToken } from "../../catalog/page-token.js";
import { ErrorCode, JoustError } from "../../foundation/errors.js";
import type { Operation, RawParams, Translation } from "../operation.js";
import { changes } from "./lancedb-changes.js";
import { onValue } from "./on-value.js";

/**
 * Codes that are answered 400 here, because they are the same however often the request is repeated.
 * Not among them: a branch that exists, the one 409 that the SDKs do not repeat but understand.
 */
const lasting: ReadonlySet<ErrorCode> = new Set([
  ErrorCode.NamespaceAlreadyExists,
  ErrorCode.NamespaceNotEmpty,
  ErrorCode.TableAlreadyExists,
  ErrorCode.TableIndexAlreadyExists,
  ErrorCode.TableTagAlreadyExists,
  ErrorCode.InvalidTableState,
  // They read 404 as a table that is not there, and keep the text to themselves.
  ErrorCode.TableColumnNotFound,
]);

/** What versions and transactions are in conflict with lasts. */
const conflictLasts = {
  failure: (error: JoustError) =>
    error.code === ErrorCode.ConcurrentModification
      ? new JoustError(error.code, error.message, 400)
      : failure(error),
};

/** The SDKs repeat a request that was answered 409; they read "already exists" in the text of a 400. */
function failure(error: JoustError): JoustError {
  return lasting.has(error.code) ? new JoustError(error.code, error.message, 400) : error;
}

/** Operations whose members have other names or forms here. */
const different: Record<string, Omit<Translation, "operation">> = {
  ...changes,
  // Names of the root's tables; the token is the last of them, as it is.
  ListTables: {
    path: "/v1/table/",
    params: ({ page_token, ...rest }): RawParams => ({
      ...rest,
      // They cannot open a table without a schema.
      include_declared: "false",
      ...(typeof page_token === "string" &&
        page_token !== "" && { page_token: tablesPageToken([], page_token) }),
    }),
    reply: onValue((value) =>
      value.page_token === undefined
        ? value
        : { ...value, page_token: (value.tables as string[]).at(-1) },
    ),
  },
  DropTable: {
    failure: (error) =>
      error.code === ErrorCode.TableNotFound ? { kind: "json", value: {} } : failure(error),
  },
  RenameTable: {
    body: ({ new_namespace, ...rest }) => ({ new_namespace_id: new_namespace, ...rest }),
  },
  CreateTableIndex: {
    body: ({ metric_type, document_granularity, ...rest }) => {
      if (document_granularity != null && document_granularity !== "row") {
        throw new JoustError(
          ErrorCode.Unsupported,
          "a text index of this server has a document for each row: leave document_granularity out",
        );
      }
      return { distance_type: metric_type, replace: true, ...rest };
    },
    reply: onValue(({ transaction_id }) => ({ job_id: transaction_id })),
  },
  AlterTransaction: conflictLasts,
  CreateTableVersion: conflictLasts,
  BatchCreateTableVersions: conflictLasts,
  BatchCommitTables: conflictLasts,
  // An index counts as built once it is listed.
  ListTableIndices: {
    reply: onValue(({ indexes, ...rest }) => ({
      ...rest,
      indexes: (indexes as { status: string }[]).filter((index) => index.status === "Ready"),
    })),
  },
};

/** Their own listing of all tables is the root's. */
const absent = new Set(["ListAllTables"]);

/** The translations of the operations that the LanceDB SDKs call. */
export const lancedbTranslations = (operations: readonly Operation[]): readonly Translation[] =>
  operations
    .filter((operation) => !absent.has(operation.id))
    .map(({ id }) => ({ failure, ...different[id], operation: id }));
