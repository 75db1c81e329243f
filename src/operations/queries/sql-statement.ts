import {
  cancelQuery,
  type QueryAnswer,
  type SqlOptions,
  type SqlSource,
  type SqlTable,
} from "../../engine/index.js";
import { ErrorCode, hasCode, JoustError } from "../../foundation/errors.js";
import { mergeObjects } from "../../foundation/merge-objects.js";
import { type NameScope, onNamedTable } from "../../tables/named-table.js";
import {
  checkLive,
  type OpenTable,
  storageOptions,
  type TableDependencies,
  versionsOf,
} from "../../tables/open-table.js";
import type { Freshness } from "../../tables/target.js";
import { nextQueryNumber } from "./query-number.js";
import {
  informationSchemaTable,
  type ListingServices,
  listInformation,
} from "./sql-information.js";
import { stateOf } from "./sql-table-state.js";

/** The encoding of the result rows. */
export type SqlFormat = "file" | "stream" | "json" | "json-lines" | "csv" | "parquet";

/** How a query runs. */
export interface QueryRun {
  readonly fresh: Freshness;
  /** What the names in the statement are relative to (see NameScope); default: the root. */
  readonly database?: readonly string[];
  /** Default: the database. */
  readonly namespace?: readonly string[];
  /** The time that the request has left. */
  readonly timeout?: { timeoutMs?: number };
  /** Runs `work` if the client disconnects. */
  onAbort(work: () => void): void;
  /** A table that the statement reads, for the audit log. */
  reads?(id: readonly string[]): void;
}

/**
 * Runs the query of a JSON body `{query, parameters, limit}` over the catalog's tables, without a server.
 *
 * @throws code 13 for an invalid statement, 0 for one that joust does not have, 1 or 4 for a table that does not exist
 */
export async function runStatement(
  services: ListingServices,
  body: Uint8Array,
  { format, ...run }: QueryRun & { readonly format: SqlFormat },
): Promise<QueryAnswer> {
  const { tables, change } = await services.engine.sqlStatement(body);
  if (change === undefined) {
    return runQuery(services, tables, run, (options) =>
      services.engine.sql(body, { ...options, format }),
    );
  }
  throw new JoustError(
    ErrorCode.Unsupported,
    "only a server runs this statement: send it to one with --url",
  );
}

/** Calls the engine with the tables that a query names: `SqlStatement.tables`. @throws code 1 or 4 */
export async function runQuery<T>(
  services: ListingServices,
  tables: readonly SqlTable[],
  { fresh, database = [], namespace = database, timeout, onAbort, reads }: QueryRun,
  start: (options: SqlOptions) => Promise<T>,
): Promise<T> {
  const { sources, listing, records } = await resolveTables(
    services,
    tables,
    { database, namespace },
    fresh,
  );
  for (const { id } of records) reads?.(id);
  const number = nextQueryNumber();
  const options = mergeObjects({ sources, number, ...listing, ...timeout }, fresh);
  return withLiveTables(services, records, () => {
    const started = start(options);
    // After the start, because only a running query can be cancelled. Runs at once if the client has disconnected.
    onAbort(() => cancelQuery(number));
    return started;
  });
}

/** The tables that a statement reads, for the engine. */
export interface ResolvedTables {
  readonly sources: SqlSource[];
  /** The content of `information_schema`, if the statement reads it. */
  readonly listing: Awaited<ReturnType<typeof listInformation>>;
  readonly records: readonly OpenTable["record"][];
}

/** Resolves the names of tables. @throws code 1 or 4 if one does not exist */
export async function resolveTables(
  services: ListingServices,
  tables: readonly SqlTable[],
  scope: NameScope,
  fresh: Freshness,
): Promise<ResolvedTables> {
  const records: OpenTable["record"][] = [];
  const sources = await Promise.all(
    tables.map((table) => resolve(services, table, scope, records)),
  );
  return {
    sources,
    listing: await listInformation(services, sources, scope.database, fresh),
    records,
  };
}

/** Runs work that reads tables. Missing files are not an internal error if a table was dropped meanwhile. */
export async function withLiveTables<T>(
  services: TableDependencies,
  records: readonly OpenTable["record"][],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (hasCode(error, ErrorCode.Internal)) {
      for (const record of records) await checkLive(services, record);
    }
    throw error;
  }
}

/** The source that a name in the statement refers to. Adds its table to `records`. */
async function resolve(
  services: TableDependencies,
  { name, ...state }: SqlTable,
  scope: NameScope,
  records: OpenTable["record"][],
): Promise<SqlSource> {
  const information = informationSchemaTable(name);
  if (information !== undefined) return { information };
  return onNamedTable(services, name, scope, async ({ record }) => {
    records.push(record);
    const { restriction } = record;
    return {
      location: record.location,
      storageOptions: storageOptions(services, record),
      // The engine refuses an empty list.
      ...(restriction && { rows: [...(restriction.filters ?? [])] }),
      ...(await stateOf(versionsOf(services, record), state)),
    };
  });
}
