import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import type { Logger } from "../../telemetry/logger.js";
import type { CatalogDatabase } from "../database.js";
import { migrate } from "../migrations/index.js";
import type { CatalogSchema } from "../schema.js";
import { isRetryable, rethrow } from "../sql-error.js";

const CONNECT_TIMEOUT = 5_000;
const STATEMENT_TIMEOUT = 30_000;
const MAX_CONNECTIONS = 10;
const MAX_ATTEMPTS = 5;
const INT8 = 20;

/** Opens the catalog in a Postgres database that several servers share. */
export async function openPostgres(url: string, log: Logger): Promise<CatalogDatabase> {
  const pool = new pg.Pool({
    connectionString: url,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT,
    statement_timeout: STATEMENT_TIMEOUT,
    application_name: "joust",
    types: {
      // pg returns 64-bit integers as strings. Times in ms are far below 2^53.
      getTypeParser: (oid, format) =>
        oid === INT8 && format !== "binary" ? Number : pg.types.getTypeParser(oid, format),
    },
  });
  pool.on("error", (error) => log.warn({ err: error }, "an idle catalog connection was lost"));
  const read = new Kysely<CatalogSchema>({ dialect: new PostgresDialect({ pool }) });
  try {
    await migrate(read, "postgres");
  } catch (error) {
    await read.destroy();
    throw error;
  }
  const write: CatalogDatabase["write"] = async (work) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await read.transaction().execute(work);
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || !isRetryable(error)) rethrow(error);
      }
    }
  };
  return {
    kind: "postgres",
    read,
    write,
    close: () => read.destroy(),
  };
}
