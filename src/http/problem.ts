import { type ErrorCode, errorName, errorReply, type JoustError } from "../foundation/errors.js";
import { LimitExceeded } from "../limits/limit-exceeded.js";

/** The body of every error reply: a problem object (RFC 9457) with the `error` and `code` of the Lance namespace specification. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  /** The request's path, as sent. */
  instance: string;
  error: string;
  code: number;
  /** The name of the limit that refuses the request. */
  limit?: string;
}

/** `table-not-found` and `table not found` for TableNotFound. */
const words = (code: ErrorCode, separator: string): string =>
  errorName(code)
    .replace(/(?<=[a-z])(?=[A-Z])/g, separator)
    .toLowerCase();

/** The HTTP status of the reply for a failure. */
export const problemStatus = (error: JoustError): number =>
  error.status ?? errorReply(error.code).status;

/** The body of the reply for a failure. */
export function problem(error: JoustError, path: string): Problem {
  return {
    type: `urn:joust:error:${words(error.code, "-")}`,
    title: words(error.code, " "),
    status: problemStatus(error),
    detail: error.message,
    instance: path,
    error: error.message,
    code: error.code,
    ...(error instanceof LimitExceeded && { limit: error.limit }),
  };
}

/** The headers of the reply for a failure. */
export function problemHeaders(error: JoustError): Readonly<Record<string, string>> | undefined {
  if (error instanceof LimitExceeded) return { "retry-after": String(error.retryAfterSeconds) };
  // A repetition has the same deadline, so it is no use to send it at once.
  return error.status === 504 ? undefined : errorReply(error.code).headers;
}
