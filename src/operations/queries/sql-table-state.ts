import type { SqlSource, SqlTable } from "../../engine/index.js";
import { ErrorCode, hasCode, JoustError } from "../../foundation/errors.js";
import type { TableVersions } from "../../tables/open-table.js";
import { branchName } from "../../tables/target.js";

type TableState = Pick<SqlSource, "branch" | "version">;

/**
 * The branch and version of a table that a statement names: with FOR VERSION AS OF a number, a tag or a branch, with FOR
 * TIMESTAMP AS OF the version that was the newest at that time.
 *
 * @throws code 8 for an unknown tag or branch, 11 for a time before the first version
 */
export async function stateOf(
  table: TableVersions,
  { version, tag, timestampMillis }: Omit<SqlTable, "name">,
): Promise<TableState> {
  if (version !== undefined) return { version };
  if (tag !== undefined) return stateOfReference(table, tag);
  if (timestampMillis !== undefined) return { version: await versionAt(table, timestampMillis) };
  return {};
}

async function stateOfReference(table: TableVersions, name: string): Promise<TableState> {
  try {
    const { version, branch } = await table.tag(name);
    return { version, ...(branch !== undefined && { branch }) };
  } catch (error) {
    if (!hasCode(error, ErrorCode.TableTagNotFound)) throw error;
    const branch = branchName(name);
    if (branch === undefined) return {};
    const branches = await table.listBranches();
    if (!branches.some((one) => one.name === branch)) throw error;
    return { branch };
  }
}

async function versionAt(table: TableVersions, millis: number): Promise<number> {
  const versions = await table.listVersions();
  const newest = versions.findLast(({ timestampMillis }) => timestampMillis <= millis);
  if (newest) return newest.version;
  throw new JoustError(
    ErrorCode.TableVersionNotFound,
    `the table has no version from ${new Date(millis).toISOString()} or before; give a later time`,
  );
}
