/** The contract's numbered errors; every failure that reaches a client is one of these. */
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

/** A failure with the contract's code and a sentence that says what was wrong and what would be right. */
export class JoustError extends Error {
  override readonly name = "JoustError";

  constructor(
    readonly code: ErrorCode,
    message: string,
    /** HTTP status where it is not the code's usual one (404 for a route, 405, 413, 415). */
    readonly status?: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export const invalidInput = (message: string): JoustError =>
  new JoustError(ErrorCode.InvalidInput, message);

/**
 * Why something failed, in one line for the operator: with what the engine tells clients its log says.
 */
export function operatorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { internal } = error as { internal?: unknown };
  const message = error.message.replace(/; the server's log says \w+$/, "");
  if (message === error.message || typeof internal !== "string") return error.message;
  // Lance says where in its sources it failed.
  const cause = internal.replace(/, \S+\.rs:\d+:\d+/g, "").replace(/\s+/g, " ");
  return `${message}: ${cause.trim()}`;
}

/**
 * Any failure as one that may be shown to a client. Errors of the engine keep their code and text;
 * what is not foreseen becomes code 18 with the failure as its cause, which is for the log only.
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

/** Whether an error, of the engine or of joust, has that code. */
export const hasCode = (error: unknown, code: ErrorCode): boolean =>
  error instanceof Error && "code" in error && error.code === code;
