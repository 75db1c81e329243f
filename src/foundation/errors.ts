/** For failures that a later attempt does not meet. */
const retry = { "retry-after": "1" };

/**
 * The error codes of the Lance namespace specification, with the HTTP status and the headers of the reply. Every
 * failure that reaches a client has one of these codes. A failure may name another status (`JoustError.status`).
 */
const errorTable = {
  Unsupported: { code: 0, status: 406 },
  NamespaceNotFound: { code: 1, status: 404 },
  NamespaceAlreadyExists: { code: 2, status: 409 },
  NamespaceNotEmpty: { code: 3, status: 409 },
  TableNotFound: { code: 4, status: 404 },
  TableAlreadyExists: { code: 5, status: 409 },
  TableIndexNotFound: { code: 6, status: 404 },
  TableIndexAlreadyExists: { code: 7, status: 409 },
  TableTagNotFound: { code: 8, status: 404 },
  TableTagAlreadyExists: { code: 9, status: 409 },
  TransactionNotFound: { code: 10, status: 404 },
  TableVersionNotFound: { code: 11, status: 404 },
  TableColumnNotFound: { code: 12, status: 404 },
  InvalidInput: { code: 13, status: 400 },
  ConcurrentModification: { code: 14, status: 409 },
  PermissionDenied: { code: 15, status: 403 },
  Unauthenticated: { code: 16, status: 401, headers: { "www-authenticate": "Bearer" } },
  ServiceUnavailable: { code: 17, status: 503, headers: retry },
  Internal: { code: 18, status: 500 },
  InvalidTableState: { code: 19, status: 409 },
  TableSchemaValidationError: { code: 20, status: 400 },
  Throttling: { code: 21, status: 429, headers: retry },
  TableBranchNotFound: { code: 22, status: 404 },
  TableBranchAlreadyExists: { code: 23, status: 409 },
} as const satisfies Record<string, ErrorReply & { code: number }>;

interface ErrorReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

type ErrorName = keyof typeof errorTable;

export const ErrorCode = Object.fromEntries(
  Object.entries(errorTable).map(([name, { code }]) => [name, code]),
) as { readonly [Name in ErrorName]: (typeof errorTable)[Name]["code"] };

export type ErrorCode = (typeof errorTable)[ErrorName]["code"];

const names = Object.fromEntries(
  Object.entries(errorTable).map(([name, { code }]) => [code, name]),
) as Record<ErrorCode, ErrorName>;

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === "number" && Object.hasOwn(names, code);

/** `TableNotFound` for 4. */
export const errorName = (code: ErrorCode): ErrorName => names[code];

/** The HTTP status and the headers of a reply with that code. */
export const errorReply = (code: ErrorCode): ErrorReply => errorTable[names[code]];

/** A failure: its code, and a sentence that says what was wrong and what would be right. */
export class JoustError extends Error {
  override readonly name = "JoustError";

  constructor(
    readonly code: ErrorCode,
    message: string,
    /** The HTTP status if it is not the usual one of the code (404 for a route, 405, 413, 415, 422). */
    readonly status?: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export const invalidInput = (message: string): JoustError =>
  new JoustError(ErrorCode.InvalidInput, message);

/**
 * The cause of a failure, in one line for the operator. A client sees only the engine's message; the operator also sees
 * the internal cause that the engine logs.
 */
export function operatorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { internal } = error as { internal?: unknown };
  const message = error.message.replace(/; the server's log says \w+$/, "");
  if (message === error.message || typeof internal !== "string") return error.message;
  // Lance adds the position in its sources.
  const cause = internal.replace(/, \S+\.rs:\d+:\d+/g, "").replace(/\s+/g, " ");
  return `${message}: ${cause.trim()}`;
}

/**
 * Converts any failure to one that a client may see. Errors of the engine keep their code and message. An
 * unexpected failure becomes code 18 and is its cause, which only the log shows.
 */
export function asJoustError(error: unknown): JoustError {
  if (error instanceof JoustError) return error;
  if (error instanceof Error && error.name === "EngineError" && "code" in error) {
    if (isErrorCode(error.code) && error.code !== ErrorCode.Internal) {
      return new JoustError(error.code, error.message, undefined, { cause: error });
    }
  }
  return new JoustError(
    ErrorCode.Internal,
    "the server failed in a way it should not; its log has the cause under this request's id",
    undefined,
    { cause: error },
  );
}

/** Whether an error of the engine or of joust has that code. */
export const hasCode = (error: unknown, code: ErrorCode): boolean =>
  error instanceof Error && "code" in error && error.code === code;
