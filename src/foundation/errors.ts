/** The numbered errors of the namespace interface. Every error that a client receives has one of them. */
export const ErrorCode = {
  Unsupported: 0,
  NamespaceNotFound: 1,
  NamespaceAlreadyExists: 2,
  NamespaceNotEmpty: 3,
  TableNotFound: 4,
  TableAlreadyExists: 5,
  TableIndexNotFound: 6,
  TableIndexAlreadyExists: 7,
  TableTagNotFound: 8,
  TableTagAlreadyExists: 9,
  TransactionNotFound: 10,
  TableVersionNotFound: 11,
  TableColumnNotFound: 12,
  InvalidInput: 13,
  ConcurrentModification: 14,
  PermissionDenied: 15,
  Unauthenticated: 16,
  ServiceUnavailable: 17,
  Internal: 18,
  InvalidTableState: 19,
  TableSchemaValidationError: 20,
  Throttling: 21,
  TableBranchNotFound: 22,
  TableBranchAlreadyExists: 23,
} as const;

export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

const names = Object.fromEntries(
  Object.entries(ErrorCode).map(([name, code]) => [code, name]),
) as Record<ErrorCode, keyof typeof ErrorCode>;

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === "number" && Object.hasOwn(names, code);

/** `TableNotFound` for 4. */
export const errorName = (code: ErrorCode): keyof typeof ErrorCode => names[code];

/** An error with a code of the interface. The message says what is wrong and what is valid. */
export class JoustError extends Error {
  override readonly name = "JoustError";

  constructor(
    readonly code: ErrorCode,
    message: string,
    /** HTTP status if it differs from the status of the code (404 for a route, 405, 413, 415). */
    readonly status?: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export const invalidInput = (message: string): JoustError =>
  new JoustError(ErrorCode.InvalidInput, message);

/** The cause of an error in one line for the operator. Includes details of the engine that clients do not receive. */
export function operatorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { internal } = error as { internal?: unknown };
  const message = error.message.replace(/; the server's log says \w+$/, "");
  if (message === error.message || typeof internal !== "string") return error.message;
  // Remove Lance's positions in its sources.
  const cause = internal.replace(/, \S+\.rs:\d+:\d+/g, "").replace(/\s+/g, " ");
  return `${message}: ${cause.trim()}`;
}

/**
 * Converts any error to one for the client. An error of the engine keeps its code and its message. Any
 * other error becomes code 18; the original error is its cause, which only the log shows.
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
    "the server failed to handle the request; its log has the cause under this request's id",
    undefined,
    { cause: error },
  );
}

/** Whether an error of the engine or of joust has a code. */
export const hasCode = (error: unknown, code: ErrorCode): boolean =>
  error instanceof Error && "code" in error && error.code === code;
