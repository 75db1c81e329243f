import { existsSync, mkdtempSync, rmdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { ErrorCode, JoustError, operatorMessage } from "./errors.js";

const FULL = /^(ENOSPC|EDQUOT|SQLITE_FULL|SQLITE_IOERR_SHMSIZE)$/;
const CAUSE = new RegExp(`${FULL.source}|^(EROFS|EACCES|EPERM)$`);

/**
 * Explains an error from opening a file in a directory. If the disk is the cause, returns a JoustError with
 * one sentence for the operator. If the directory accepts new files, returns the error itself.
 *
 * @param what the operator's name for the directory: `the root /data`
 */
export function diskFault(error: unknown, directory: string, what: string): unknown {
  const code = errorCodes(error).find((one) => CAUSE.test(one)) ?? probe(directory);
  const sentence = code === undefined ? undefined : sentenceOf(code, what);
  if (sentence === undefined) return error;
  return Object.assign(new JoustError(ErrorCode.ServiceUnavailable, sentence), { cause: error });
}

function sentenceOf(code: string, what: string): string | undefined {
  const elsewhere = "or give another ROOT or --catalog";
  if (FULL.test(code)) return `no space is left on the disk for ${what}: free some, ${elsewhere}`;
  if (code === "EROFS")
    return `${what} is on a read-only file system: mount it for writing, ${elsewhere}`;
  if (code === "EACCES" || code === "EPERM")
    return `this user may not write to ${what}: change the owner or the mode of the directory, ${elsewhere}`;
  return undefined;
}

/** Codes of the Unix error numbers in the engine's `os error 28`. */
const OS_ERRORS: Readonly<Record<string, string>> = { 13: "EACCES", 28: "ENOSPC", 30: "EROFS" };

/** The codes of an error and of its causes. */
function errorCodes(error: unknown): string[] {
  const codes: string[] = [];
  for (let one = error; one instanceof Error; one = one.cause) {
    const { code } = one as NodeJS.ErrnoException;
    const number = /\(os error (\d+)\)/.exec(operatorMessage(one))?.[1] ?? "";
    if (OS_ERRORS[number] !== undefined) codes.push(OS_ERRORS[number]);
    if (typeof code === "string") codes.push(code);
  }
  return codes;
}

/**
 * The error code for a new directory in `directory`, or in its closest existing ancestor; undefined if the
 * system creates it. `mkdir` of Node reports ENOENT for several causes, and SQLite reports no cause.
 */
function probe(directory: string): string | undefined {
  let existing = directory;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  try {
    rmdirSync(mkdtempSync(join(existing, ".joust-probe-")));
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
}
