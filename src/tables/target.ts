import type { ReadOptions, Table } from "../engine/index.js";
import { ErrorCode, invalidInput, JoustError } from "../foundation/errors.js";

/** Least freshness of a read: members of `ReadOptions`. */
export interface Freshness {
  /** From `x-lancedb-min-timestamp`, ms since the epoch: no cached state from before this time. */
  readonly minTimestampMillis?: number;
  /** From `x-lancedb-min-version` and `x-lancedb-min-read-version`: no older version. */
  readonly minVersion?: number;
}

interface VersionRequest {
  version?: number | undefined;
}

const isMain = (branch: string | undefined): boolean =>
  branch === undefined || branch === "" || branch === "main";

/** Normalizes the name of a branch: undefined is the main branch. */
export const branchName = (branch: string | undefined): string | undefined =>
  isMain(branch) ? undefined : branch;

/** Selects a branch. Calls to the result fail with code 22 when the branch does not exist. */
export const onBranch = <T extends Pick<Table, "onBranch">>(
  table: T,
  branch: string | undefined,
): T | Table => (isMain(branch) ? table : table.onBranch(branch));

/** Versions are 64-bit integers. */
export const END_OF_VERSIONS = 2 ** 64;

/**
 * Checks a version number. A double rounds integers above 2^53, and the engine would read another version.
 *
 * @throws code 11 for a version that no table can have, 13 for an invalid number
 */
export function checkVersion(version: number): number {
  if (Number.isSafeInteger(version)) return version;
  if (!(Math.abs(version) < END_OF_VERSIONS)) {
    throw invalidInput(`version must be an integer below 2^64, got ${version}`);
  }
  throw new JoustError(ErrorCode.TableVersionNotFound, `version ${version} does not exist`);
}

/** @throws code 11 or 13 for a version that cannot exist */
export function readOptions({ version }: VersionRequest, fresh: Freshness): ReadOptions {
  return {
    ...(version !== undefined && { version: checkVersion(version) }),
    ...fresh,
  };
}

/** The reply header with the committed version. */
export const versionHeader = (version: number): Record<string, string> => ({
  "x-lancedb-version": String(version),
});
