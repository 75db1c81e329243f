import { existsSync, mkdtempSync, rmdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { ErrorCode, JoustError } from "../errors.js";

const FULL = /^(ENOSPC|EDQUOT|SQLITE_FULL|SQLITE_IOERR_SHMSIZE)$/;

/**
 * What the disk of a catalog's file has to do with a failure to open it, in one sentence for the operator; the
 * error itself when the disk takes new files.
 */
export function diskFault(error: unknown, file: string): unknown {
  const code = codes(error).find((one) => FULL.test(one)) ?? refusal(dirname(file));
  const sentence = code === undefined ? undefined : sentenceOf(code, file);
  if (sentence === undefined) return error;
  return Object.assign(new JoustError(ErrorCode.ServiceUnavailable, sentence), { cause: error });
}

function sentenceOf(code: string, file: string): string | undefined {
  const elsewhere = "or give another ROOT or --catalog";
  if (FULL.test(code))
    return `no space is left on the disk for the catalog ${file}: free some, ${elsewhere}`;
  if (code === "EROFS")
    return `the catalog ${file} is on a read-only file system: mount it for writing, ${elsewhere}`;
  if (code === "EACCES" || code === "EPERM")
    return `this user may not write the catalog ${file}: change the owner or the mode of its directory, ${elsewhere}`;
  return undefined;
}

/** The codes of an error and of its causes. */
function codes(error: unknown): string[] {
  const found: string[] = [];
  for (let one = error; one instanceof Error; one = one.cause) {
    const { code } = one as NodeJS.ErrnoException;
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
