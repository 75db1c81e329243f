import { timeoutOf } from "../../api/time-left.js";
import {
  type ArrowBody,
  cancelQuery,
  type QueryAnswer,
  type QueryRest,
  type SqlTable,
  type SqlTarget,
  Upload,
} from "../../engine/index.js";
import { mergeObjects } from "../../foundation/merge-objects.js";
import type { NameScope } from "../../tables/named-table.js";
import { onTable, storageOptions, type TableDependencies } from "../../tables/open-table.js";
import type { Freshness } from "../../tables/target.js";
import { nextQueryNumber } from "../queries/query-number.js";
import type { ListingServices } from "../queries/sql-information.js";
import { resolveTables, withLiveTables } from "../queries/sql-statement.js";

/** The rows that a statement writes. */
interface StatementRows extends NameScope {
  /** JSON `{query, parameters}`. */
  readonly body: Uint8Array;
  readonly tables: readonly SqlTable[];
  /** The table that exists and gets the rows: they get its columns. */
  readonly changed: SqlTarget | undefined;
  readonly fresh: Freshness;
  /** Time that the request has left, ms; no limit of its own when absent. */
  readonly timeLeftMs: number | undefined;
  onAbort(work: () => void): void;
  /** A table that the statement reads, for the audit log. */
  reads(id: readonly string[]): void;
  /** Counts bytes of the rows, before they are written. @throws LimitExceeded */
  charge(bytes: number): void;
}

/** The table that a statement changes, for the engine. @throws code 1 or 4 */
export const sqlTarget = (services: TableDependencies, id: readonly string[]): Promise<SqlTarget> =>
  onTable(services, id, async ({ record }) => ({
    location: record.location,
    storageOptions: storageOptions(services, record),
  }));

/**
 * Runs the query of a statement, and passes its rows to `write` as an Arrow stream. The engine reads the tables at one
 * version each, and computes the rows while they are written.
 */
export async function withRows<T>(
  services: ListingServices,
  { body, tables, changed, fresh, timeLeftMs, onAbort, reads, charge, ...scope }: StatementRows,
  write: (rows: ArrowBody) => Promise<T>,
): Promise<T> {
  const { sources, listing, records } = await resolveTables(services, tables, scope, fresh);
  for (const { id } of records) reads(id);
  const number = nextQueryNumber();
  const stream = { sources, format: "stream" as const, number, ...timeoutOf({ timeLeftMs }) };
  const options = mergeObjects({ ...stream, ...listing }, fresh);
  return withLiveTables(services, records, async () => {
    const starting = services.engine.sqlWrittenRows(body, options, changed);
    onAbort(() => cancelQuery(number));
    const answer = await starting;
    const { first, done, rest } = answer;
    try {
      if (done || rest === undefined) {
        charge(first.byteLength);
        return await write(first);
      }
      return await writeAll(new Upload(services.engine), answer, rest, { onAbort, write, charge });
    } finally {
      rest?.cancel();
    }
  });
}

/** Writes a long result while it arrives. */
async function writeAll<T>(
  upload: Upload,
  { first }: QueryAnswer,
  rest: QueryRest,
  {
    onAbort,
    write,
    charge,
  }: Pick<StatementRows, "onAbort" | "charge"> & { write(rows: ArrowBody): Promise<T> },
): Promise<T> {
  let ended = false;
  let queryError: unknown;
  onAbort(() => upload.abort());
  const pump = async () => {
    for (let part: Buffer | null = first; part && !ended; part = await rest.next()) {
      charge(part.byteLength);
      if (!upload.push(part)) await upload.drained();
    }
    if (!ended) upload.finish();
  };
  const pumping = pump().catch((error: unknown) => {
    if (ended) return;
    queryError = error;
    upload.abort();
  });
  try {
    return await write(upload);
  } catch (error) {
    // If the query fails, the write only reports that its input has ended.
    throw queryError ?? error;
  } finally {
    ended = true;
    rest.cancel();
    upload.discard();
    await pumping;
  }
}
