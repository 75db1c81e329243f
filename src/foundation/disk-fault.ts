import { existsSync, mkdtempSync, rmdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { ErrorCode, JoustError, operatorMessage } from "./errors.js";

const FULL = /^(ENOSPC|EDQUOT|SQLITE_FULL|SQLITE_IOERR_SHMSIZE)$/;
const CAUSE = new RegExp(`${FULL.source}|^(EROFS|EACCES|EPERM)$`);

/**
 * What the disk has to do with a failure to open something in a directory, in one sentence for the operator; the
 * error itself when the disk takes new files.
 *
 * @param what as the operator knows it: `the root /data`
 */
export function diskFault(error: unknown, directory: string, what: string): unknown {
  const code = codes(error).find((one) => CAUSE.test(one)) ?? refusal(directory);
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

/** Unix's numbers of what the engine reports as `os error 28`. */
const OS_ERRORS: Readonly<Record<string, string>> = { 13: "EACCES", 28: "ENOSPC", 30: "EROFS" };

/** The codes of an error and of its causes. */
function codes(error: unknown): string[] {
  const found: string[] = [];
  for (let one = error; one instanceof Error; one = one.cause) {
    const { code } = one as NodeJS.ErrnoException;
    const number = /\(os error (\d+)\)/.exec(operatorMessage(one))?.[1] ?? "";
    if (OS_ERRORS[number] !== undefined) found.push(OS_ERRORS[number]);
    if (typeof code === "string") found.push(code);
  }
  return found;
}

/**
 * The code with which the system refuses a new directory in the place of a directory or, as long as it does not
 * exist, above it. `mkdir` of Node reports ENOENT for several reasons, and SQLite only that it cannot open.
 */
function refusal(directory: string): string | undefined {
  let existing = directory;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  try {
    rmdirSync(mkdtempSync(join(existing, ".joust-probe-")));
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
}
