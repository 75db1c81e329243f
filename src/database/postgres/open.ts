import { Kysely, type LogEvent, PostgresDialect } from "kysely";
import pg from "pg";
import type { Logger } from "../../telemetry/logger.js";
import { type SpanAttributes, tracing } from "../../telemetry/tracing.js";
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
  // pg reports a lost connection in two ways: the pool emits it for a connection that no statement
  // uses, the client for one that a statement or transaction uses. Without a listener Node ends the
  // process.
  pool.on("error", (error) => log.warn({ err: error }, "an idle catalog connection was lost"));
  pool.on("connect", (client) =>
    client.on("error", (error) => log.warn({ err: error }, "a catalog connection in use was lost")),
  );
  const read = new Kysely<CatalogSchema>({
    dialect: new PostgresDialect({ pool }),
    ...(tracing && { log: recordStatement(url) }),
  });
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

/** Records a span for each statement. */
function recordStatement(url: string): (event: LogEvent) => void {
  const database = databaseAttributes(url);
  return (event) => {
    const { query, queryDurationMillis: ms } = event;
    const error = event.level === "error" && { error: errorType(event.error) };
    tracing?.recordStatement({ sql: query.sql, ms, database, ...error });
  };
}

/** The attributes that OpenTelemetry defines for a database. They contain no user and no password. */
function databaseAttributes(url: string): SpanAttributes {
  const system = { "db.system.name": "postgresql" };
  // The URL of a Unix socket has no host, and is no URL for Node.
  if (!URL.canParse(url)) return system;
  const { hostname, port, pathname } = new URL(url);
  return {
    ...system,
    "db.namespace": decodeURIComponent(pathname.slice(1)),
    "server.address": hostname,
    "server.port": port === "" ? 5432 : Number(port),
  };
}

/** The SQLSTATE, or the name of an error of the connection. */
function errorType(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return String(code ?? name ?? "_OTHER");
}
