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
  type Opening,
  type OpenTable,
  storageOptions,
} from "../../tables/open-table.js";
import type { Freshness } from "../../tables/target.js";
import { queryNumber } from "./query-number.js";
import { informationName, type Listing, listingFor } from "./sql-information.js";

/** How the rows of a statement are written. */
export type SqlFormat = "file" | "stream" | "json" | "json-lines" | "csv";

export interface SqlRun {
  readonly format: SqlFormat;
  readonly fresh: Freshness;
  /** Runs `work` when nobody waits for the answer any more. */
  onAbort(work: () => void): void;
}

/**
 * Runs the statement of a JSON body `{query, parameters, limit}` over the catalog's tables.
 *
 * @throws code 13 for what is no query, 0 for another statement, 1 or 4 for a table that does not exist
 */
export async function runStatement(
  services: Listing,
  body: Uint8Array,
  { format, fresh, onAbort }: SqlRun,
): Promise<QueryAnswer> {
  const { engine } = services;
  const tables = await engine.sqlTables(body);
  const records: OpenTable["record"][] = [];
  const sources = await Promise.all(tables.map((table) => source(services, table, records)));
  const listing = await listingFor(services, sources, fresh);
  const number = queryNumber();
  const options = mergeObjects({ sources, format, number, ...listing }, fresh);
  try {
    const answer = engine.sql(body, options);
    // Afterwards, since nothing is ended before it has begun: at once if the client is gone already.
    onAbort(() => cancelQuery(number));
    return await answer;
  } catch (error) {
    // Files that vanish under a query are no fault of the server's if somebody dropped the table.
    if (hasCode(error, ErrorCode.Internal)) {
      for (const record of records) await checkLive(services, record);
    }
    throw error;
  }
}

/** What a name stands for. Adds the table to `records`. */
async function source(
  services: Opening,
  { name, version, tag }: SqlTable,
  records: OpenTable["record"][],
): Promise<SqlSource> {
  const information = informationName(name);
  if (information !== undefined) return { information };
  return onNamedTable(services, name, [], async ({ record, table }) => {
    records.push(record);
    const tagged = tag === undefined ? undefined : await table.tag(tag);
    const wanted = version ?? tagged?.version;
    return {
      location: record.location,
      storageOptions: storageOptions(services, record),
      ...(tagged?.branch !== undefined && { branch: tagged.branch }),
      ...(wanted !== undefined && { version: wanted }),
    };
  });
}
