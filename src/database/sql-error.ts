import { ErrorCode, JoustError } from "../foundation/errors.js";

/** Which rule of the database a statement broke. */
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

/** Postgres asks for the transaction to be run again: serialization failure, deadlock. */
export const isRetryable = (error: unknown): boolean => ["40001", "40P01"].includes(codeOf(error));

/** SQLite: another process has the file. */
export const isBusy = (error: unknown): boolean => codeOf(error).startsWith("SQLITE_BUSY");

/** A statement names a table that the database does not have. */
export const isMissingTable = (error: unknown): boolean =>
  codeOf(error) === "42P01" ||
  (error instanceof Error && error.message.startsWith("no such table"));

const UNAVAILABLE = [
  // A second process holds the file too long, or the disk is full, broken or gone.
  /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|PROTOCOL)/,
  // Postgres: connection, resources, operator intervention (also statement timeout), I/O.
  /^(08|53|57|58)/,
  // Between here and there.
  /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_|EHOST|ENET|ENOENT$)/,
];

/** pg reports these without a code. */
const LOST = /timeout exceeded when trying to connect|Connection terminated|Cannot use a pool/;

/** Throws code 17 in place of a database that is busy or cannot be reached; else the error itself. */
export function rethrow(error: unknown): never {
  const message = error instanceof Error ? error.message : "";
  if (UNAVAILABLE.some((pattern) => pattern.test(codeOf(error))) || LOST.test(message)) {
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

/** The promise, with `rethrow` applied to its failure. */
export const available = <T>(query: Promise<T>): Promise<T> => query.catch(rethrow);
