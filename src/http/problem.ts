import { ErrorCode, errorName, type JoustError } from "../foundation/errors.js";

/** The body of every error reply: a problem object (RFC 9457) with the namespace interface's `error` and `code`. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  /** The path as the client sent it. */
  instance: string;
  error: string;
  code: number;
}

const statusOfCode: Record<ErrorCode, number> = {
  [ErrorCode.Unsupported]: 406,
  [ErrorCode.NamespaceNotFound]: 404,
  [ErrorCode.NamespaceAlreadyExists]: 409,
  [ErrorCode.NamespaceNotEmpty]: 409,
  [ErrorCode.TableNotFound]: 404,
  [ErrorCode.TableAlreadyExists]: 409,
  [ErrorCode.TableIndexNotFound]: 404,
  [ErrorCode.TableIndexAlreadyExists]: 409,
  [ErrorCode.TableTagNotFound]: 404,
  [ErrorCode.TableTagAlreadyExists]: 409,
  [ErrorCode.TransactionNotFound]: 404,
  [ErrorCode.TableVersionNotFound]: 404,
  [ErrorCode.TableColumnNotFound]: 404,
  [ErrorCode.InvalidInput]: 400,
  [ErrorCode.ConcurrentModification]: 409,
  [ErrorCode.PermissionDenied]: 403,
  [ErrorCode.Unauthenticated]: 401,
  [ErrorCode.ServiceUnavailable]: 503,
  [ErrorCode.Internal]: 500,
  [ErrorCode.InvalidTableState]: 409,
  [ErrorCode.TableSchemaValidationError]: 400,
  [ErrorCode.Throttling]: 429,
  [ErrorCode.TableBranchNotFound]: 404,
  [ErrorCode.TableBranchAlreadyExists]: 409,
};

/** `table-not-found` or `table not found` for TableNotFound. */
const separatedName = (code: ErrorCode, separator: string): string =>
  errorName(code)
    .replace(/(?<=[a-z])(?=[A-Z])/g, separator)
    .toLowerCase();

/** HTTP status of an error. */
export const problemStatus = (error: JoustError): number =>
  error.status ?? statusOfCode[error.code];

/** The body of an error reply. */
export function problem(error: JoustError, path: string): Problem {
  return {
    type: `urn:joust:error:${separatedName(error.code, "-")}`,
    title: separatedName(error.code, " "),
    status: problemStatus(error),
    detail: error.message,
    instance: path,
    error: error.message,
    code: error.code,
  };
}

/** Headers that the status of an error requires. */
export function problemHeaders(error: JoustError): Record<string, string> | undefined {
  if (error.code === ErrorCode.Unauthenticated) return { "www-authenticate": "Bearer" };
  if (error.code === ErrorCode.Throttling || error.code === ErrorCode.ServiceUnavailable) {
    return { "retry-after": "1" };
  }
  return undefined;
}
