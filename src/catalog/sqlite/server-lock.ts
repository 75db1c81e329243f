import Database from "libsql";
import { ErrorCode, JoustError } from "../../errors.js";

/**
 * Makes this process the only server of a SQLite catalog. The operating system gives the lock up
 * with the process, however it ends, so what a former server left undone is known to be nobody's.
 */
export function takeServerLock(catalogPath: string): { release(): void } {
  const database = new Database(`${catalogPath}-server`, { timeout: 2_000 });
  try {
    database.exec("begin exclusive");
  } catch (error) {
    database.close();
    if (!(error instanceof Error && "code" in error && error.code === "SQLITE_BUSY")) throw error;
    throw new JoustError(
      ErrorCode.ServiceUnavailable,
      "another joust server works on this root: stop it first, or give both a Postgres catalog with --catalog",
    );
  }
  return { release: () => database.close() };
}
