import {
  cancelQuery,
  type QueryAnswer,
  type SqlSource,
  type SqlTable,
} from "../../engine/index.js";
import { ErrorCode, hasCode } from "../../foundation/errors.js";
import { mergeObjects } from "../../foundation/merge-objects.js";
import { onNamedTable } from "../../tables/named-table.js";
import {
  checkLive,
  type OpenTable,
  storageOptions,
  type TableDependencies,
} from "../../tables/open-table.js";
import type { Freshness } from "../../tables/target.js";
import { nextQueryNumber } from "./query-number.js";
import {
  informationSchemaTable,
  type ListingServices,
  listInformation,
} from "./sql-information.js";

/** The encoding of the result rows. */
export type SqlFormat = "file" | "stream" | "json" | "json-lines" | "csv";

export interface SqlRun {
  readonly format: SqlFormat;
  readonly fresh: Freshness;
  /** The time that the request has left. */
  readonly timeout?: { timeoutMs?: number };
  /** Runs `work` if the client disconnects. */
  onAbort(work: () => void): void;
}

/**
 * Runs the statement of a JSON body `{query, parameters, limit}` over the catalog's tables.
 *
 * @throws code 13 for an invalid query, 0 for a statement that is not a query, 1 or 4 for a table that does not exist
 */
export async function runStatement(
  services: ListingServices,
  body: Uint8Array,
  { format, fresh, timeout, onAbort }: SqlRun,
): Promise<QueryAnswer> {
  const { engine } = services;
  const tables = await engine.sqlTables(body);
  const records: OpenTable["record"][] = [];
  const sources = await Promise.all(tables.map((table) => resolve(services, table, records)));
  const listing = await listInformation(services, sources, fresh);
  const number = nextQueryNumber();
  const options = mergeObjects({ sources, format, number, ...listing, ...timeout }, fresh);
  try {
    const answer = engine.sql(body, options);
    // After the start, because only a running query can be cancelled. Runs at once if the client has disconnected.
    onAbort(() => cancelQuery(number));
    return await answer;
  } catch (error) {
    // Missing files are not an internal error if the table was dropped during the query.
    if (hasCode(error, ErrorCode.Internal)) {
      for (const record of records) await checkLive(services, record);
    }
    throw error;
  }
}

/** The source that a name in the statement refers to. Adds its table to `records`. */
async function resolve(
  services: TableDependencies,
  { name, version, tag }: SqlTable,
  records: OpenTable["record"][],
): Promise<SqlSource> {
  const information = informationSchemaTable(name);
  if (information !== undefined) return { information };
  return onNamedTable(services, name, [], async ({ record, table }) => {
    records.push(record);
    const tagged = tag === undefined ? undefined : await table.tag(tag);
    const readVersion = version ?? tagged?.version;
    return {
      location: record.location,
      storageOptions: storageOptions(services, record),
      ...(tagged?.branch !== undefined && { branch: tagged.branch }),
      ...(readVersion !== undefined && { version: readVersion }),
    };
  });
}
