import type { ReadOptions } from "../engine/index.js";
import { ErrorCode, invalidInput, JoustError } from "../errors.js";

interface Wanted {
  version?: number | undefined;
  tag?: string | undefined;
  branch?: string | undefined;
}

/** Refuses every branch but main. @throws code 22 */
export function onMain(branch: string | undefined): void {
  if (branch === undefined || branch === "main") return;
  throw new JoustError(
    ErrorCode.TableBranchNotFound,
    `branch ${JSON.stringify(branch)} does not exist`,
  );
}

/**
 * Which state of a table a request is about.
 *
 * @throws code 8 and 22 for a tag or branch that does not exist, 11 for a version that cannot.
 */
export function readOptions(
  { version, tag, branch }: Wanted,
  minTimestampMillis: number | undefined,
): ReadOptions {
  onMain(branch);
  if (tag !== undefined) {
    if (version !== undefined) {
      throw invalidInput("version and tag are both given: name one of them");
    }
    throw new JoustError(ErrorCode.TableTagNotFound, `tag ${JSON.stringify(tag)} does not exist`);
  }
  // Beyond what a double holds exactly the engine would be asked for another version.
  if (version !== undefined && !Number.isSafeInteger(version)) {
    throw new JoustError(ErrorCode.TableVersionNotFound, `version ${version} does not exist`);
  }
  return {
    ...(version !== undefined && { version }),
    ...(minTimestampMillis !== undefined && { minTimestampMillis }),
  };
}

/** Header that tells the committed version a reply speaks of. */
export const versionHeader = (version: number): Record<string, string> => ({
  "x-lancedb-version": String(version),
});
