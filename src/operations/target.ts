import type { ReadOptions, Table } from "../engine/index.js";
import { ErrorCode, JoustError } from "../errors.js";
import type { Fresh } from "./operation.js";

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

/** Beyond what a double holds exactly the engine would be asked for another version. @throws code 11 */
export function checkVersion(version: number): number {
  if (Number.isSafeInteger(version)) return version;
  throw new JoustError(ErrorCode.TableVersionNotFound, `version ${version} does not exist`);
}

/** Which state of a table a request is about. @throws code 11 for a version that cannot exist */
export function readOptions({ version }: Wanted, fresh: Fresh): ReadOptions {
  return {
    ...(version !== undefined && { version: checkVersion(version) }),
    ...fresh,
  };
}

/** Header that tells the committed version a reply speaks of. */
export const versionHeader = (version: number): Record<string, string> => ({
  "x-lancedb-version": String(version),
});
