import type { ReadOptions, Table } from "../engine/index.js";
import { ErrorCode, invalidInput, JoustError } from "../foundation/errors.js";

/** How new an answer must be: members of the engine's options of reads. */
export interface Freshness {
  /** From `x-lancedb-min-timestamp`: not from anything learnt before, ms since the epoch. */
  readonly minTimestampMillis?: number;
  /** From `x-lancedb-min-version` and `x-lancedb-min-read-version`: not from an older version. */
  readonly minVersion?: number;
}

interface Wanted {
  version?: number | undefined;
}

const isMain = (branch: string | undefined): boolean =>
  branch === undefined || branch === "" || branch === "main";

/** The name of a branch as it is kept: undefined for the main one. */
export const branchName = (branch: string | undefined): string | undefined =>
  isMain(branch) ? undefined : branch;

/** The table on the branch that a request names. Its calls fail with code 22 when there is none. */
export const onBranch = (table: Table, branch: string | undefined): Table =>
  isMain(branch) ? table : table.onBranch(branch);

/** Versions are integers of 64 bits. */
export const END_OF_VERSIONS = 2 ** 64;

/**
 * Beyond what a double holds exactly the engine would be asked for another version.
 *
 * @throws code 11 for a version that no table has, 13 for what is no version's number
 */
export function checkVersion(version: number): number {
  if (Number.isSafeInteger(version)) return version;
  if (!(Math.abs(version) < END_OF_VERSIONS)) {
    throw invalidInput(`version must be an integer below 2^64, got ${version}`);
  }
  throw new JoustError(ErrorCode.TableVersionNotFound, `version ${version} does not exist`);
}

/** Which state of a table a request is about. @throws code 11 or 13 for a version that cannot exist */
export function readOptions({ version }: Wanted, fresh: Freshness): ReadOptions {
  return {
    ...(version !== undefined && { version: checkVersion(version) }),
    ...fresh,
  };
}

/** Header that tells the committed version a reply speaks of. */
export const versionHeader = (version: number): Record<string, string> => ({
  "x-lancedb-version": String(version),
});
