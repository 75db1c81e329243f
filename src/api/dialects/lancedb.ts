/**
 * The requests and replies of LanceDB SDKs in remote mode. A slash at the end of the path selects this dialect.
 * The engine reads both forms of a query body.
 */
import { tablesPageToken } from "../../catalog/page-token.js";
import { ErrorCode, JoustError } from "../../foundation/errors.js";
import type { Operation, RawParams, Reply, Translation } from "../operation.js";

/**
 * Codes whose status is 400 in this dialect, because a retry meets them again: the SDKs retry a request after 409.
 * TableBranchAlreadyExists is not among them: it is the one 409 that the SDKs understand and do not retry.
 */
const permanentCodes: ReadonlySet<ErrorCode> = new Set([
  ErrorCode.NamespaceAlreadyExists,
  ErrorCode.NamespaceNotEmpty,
  ErrorCode.TableAlreadyExists,
  ErrorCode.TableIndexAlreadyExists,
  ErrorCode.TableTagAlreadyExists,
  ErrorCode.InvalidTableState,
  // The SDKs report every 404 as a missing table and drop the message.
  ErrorCode.TableColumnNotFound,
]);

/** The SDKs look for "already exists" in the message of a 400. */
const failure = (error: JoustError): JoustError =>
  permanentCodes.has(error.code) ? new JoustError(error.code, error.message, 400) : error;

/** A conflict of versions or transactions is permanent. */
const permanentConflict = {
  failure: (error: JoustError) =>
    error.code === ErrorCode.ConcurrentModification
      ? new JoustError(error.code, error.message, 400)
      : failure(error),
};

/** Maps the value of a JSON reply. */
const mapJsonValue =
  (change: (value: Record<string, unknown>) => unknown) =>
  (reply: Reply): Reply =>
    reply.kind === "json"
      ? { ...reply, value: change(reply.value as Record<string, unknown>) }
      : reply;

/** The operations whose members have other names or forms in this dialect. */
const translated: Record<string, Omit<Translation, "operation">> = {
  // Lists the tables of the root. The token is the plain name of the last one.
  ListTables: {
    path: "/v1/table/",
    params: ({ page_token, ...rest }, database): RawParams => ({
      ...rest,
      // The SDKs cannot open a table without a schema.
      include_declared: "false",
      ...(typeof page_token === "string" &&
        page_token !== "" && { page_token: tablesPageToken(database, page_token) }),
    }),
    reply: mapJsonValue((value) =>
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
  // The SDKs refuse a reply that has both names.
  UpdateTable: {
    reply: mapJsonValue(({ updated_rows, ...rest }) => ({ rows_updated: updated_rows, ...rest })),
  },
  ListTableTags: { reply: mapJsonValue(({ tags }) => tags) },
  CreateTableIndex: {
    body: ({ metric_type, document_granularity, ...rest }) => {
      if (document_granularity != null && document_granularity !== "row") {
        throw new JoustError(
          ErrorCode.Unsupported,
          "a text index of this server has one document for each row: leave document_granularity out",
        );
      }
      return { distance_type: metric_type, replace: true, ...rest };
    },
    reply: mapJsonValue(({ transaction_id }) => ({ job_id: transaction_id })),
  },
  AlterTransaction: permanentConflict,
  CreateTableVersion: permanentConflict,
  BatchCreateTableVersions: permanentConflict,
  BatchCommitTables: permanentConflict,
  // The SDKs take a listed index as built.
  ListTableIndices: {
    reply: mapJsonValue(({ indexes, ...rest }) => ({
      ...rest,
      indexes: (indexes as { status: string }[]).filter((index) => index.status === "Ready"),
    })),
  },
};

/** In this dialect `ListTables` has the path of `ListAllTables`. */
const absent = new Set(["ListAllTables"]);

/** The translations of the operations that LanceDB SDKs call. */
export const lancedbTranslations = (operations: readonly Operation[]): readonly Translation[] =>
  operations
    .filter((operation) => !absent.has(operation.id))
    .map(({ id }) => ({ failure, ...translated[id], operation: id }));
