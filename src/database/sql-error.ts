import { ErrorCode, JoustError } from "../foundation/errors.js";

/** The constraint that a statement violated. */
export function violation(error: unknown): "unique" | "foreign-key" | undefined {
  switch (codeOf(error)) {
    case "SQLITE_CONSTRAINT_UNIQUE":
    case "SQLITE_CONSTRAINT_PRIMARYKEY":
    case "23505":
      return "unique";
    case "SQLITE_CONSTRAINT_FOREIGNKEY":
    case "23503":
      return "foreign-key";
    default:
      return undefined;
  }
}

/** Postgres: the transaction must run again after a serialization failure or a deadlock. */
export const isRetryable = (error: unknown): boolean => ["40001", "40P01"].includes(codeOf(error));

/** SQLite: another process holds the lock of the file. */
export const isBusy = (error: unknown): boolean => codeOf(error).startsWith("SQLITE_BUSY");

/** A statement names a table that does not exist in the database. */
export const isMissingTable = (error: unknown): boolean =>
  codeOf(error) === "42P01" ||
  (error instanceof Error && error.message.startsWith("no such table"));

const UNAVAILABLE = [
  // Another process holds the lock too long, or the disk is full, failing or missing.
  /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|PROTOCOL)/,
  // Postgres: connection, resources, operator intervention (also statement timeout), I/O.
  /^(08|53|57|58)/,
  // Network.
  /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_|EHOST|ENET|ENOENT$)/,
];

/** pg reports these without a code. */
const CONNECTION_LOST =
  /timeout exceeded when trying to connect|Connection terminated|Cannot use a pool|connection error and is not queryable/;

/** A COMMIT has failed, for example because the connection broke. It may have taken effect. */
export class OutcomeUnknown extends JoustError {
  constructor(cause: unknown) {
    const message =
      "the catalog database did not confirm the change, which may have taken effect: check it, and try again";
    super(ErrorCode.ServiceUnavailable, message, undefined, { cause });
  }
}

/**
 * Throws code 17 when the database is busy or cannot be reached, else the error itself. `isCommitting`: the COMMIT may
 * have been sent.
 */
export function rethrow(error: unknown, { isCommitting = false } = {}): never {
  const message = error instanceof Error ? error.message : "";
  if (UNAVAILABLE.some((pattern) => pattern.test(codeOf(error))) || CONNECTION_LOST.test(message)) {
    if (isCommitting) throw new OutcomeUnknown(error);
    throw Object.assign(
      new JoustError(
        ErrorCode.ServiceUnavailable,
        "the catalog database cannot be reached, is busy or has no space: try again",
      ),
      { cause: error },
    );
  }
  throw error;
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

/** Applies `rethrow` to a failure of the query. */
export const available = <T>(query: Promise<T>): Promise<T> => query.catch(rethrow);
