import type { Socket } from "node:net";
import { Kysely, type LogEvent, PostgresDialect } from "kysely";
import pg from "pg";
import type { Logger } from "../../telemetry/logger.js";
import { type SpanAttributes, tracing } from "../../telemetry/tracing.js";
import type { CatalogDatabase, Write } from "../database.js";
import { migrate } from "../migrations/index.js";
import type { CatalogSchema } from "../schema.js";
import { isRetryable, rethrow } from "../sql-error.js";

const CONNECT_TIMEOUT = 5_000;
/** Times in which Postgres must run a statement, ms. */
const STATEMENT_TIMEOUT = 30_000;
const PRIORITY_STATEMENT_TIMEOUT = 5_000;
/** A connection is lost if Postgres does not answer for this time after it must have ended a statement, ms. */
const REPLY_TIMEOUT = 5_000;
const MAX_CONNECTIONS = 10;
const MAX_PRIORITY_CONNECTIONS = 2;
const MAX_ATTEMPTS = 5;
const INT8 = 20;

interface PoolOptions {
  readonly url: string;
  readonly max: number;
  /** ms */
  readonly statementTimeout: number;
  readonly log: Logger;
}

/** Opens the catalog in a Postgres database that several servers share. `statementTimeout`: ms. */
export async function openPostgres(
  url: string,
  log: Logger,
  { statementTimeout = STATEMENT_TIMEOUT } = {},
): Promise<CatalogDatabase> {
  const read = open({ url, max: MAX_CONNECTIONS, statementTimeout, log });
  const priority = open({
    url,
    max: MAX_PRIORITY_CONNECTIONS,
    statementTimeout: Math.min(statementTimeout, PRIORITY_STATEMENT_TIMEOUT),
    log,
  });
  const close = async () => {
    await Promise.all([read.destroy(), priority.destroy()]);
  };
  try {
    await migrate(read, "postgres");
  } catch (error) {
    await close();
    throw error;
  }
  return {
    kind: "postgres",
    read,
    write: (work) => writeOn(read, work),
    writeWithPriority: (work) => writeOn(priority, work),
    close,
  };
}

function open(options: PoolOptions): Kysely<CatalogSchema> {
  return new Kysely<CatalogSchema>({
    dialect: new PostgresDialect({ pool: openPool(options) }),
    ...(tracing && { log: recordStatement(options.url) }),
  });
}

function openPool({ url, max, statementTimeout, log }: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    connectionTimeoutMillis: CONNECT_TIMEOUT,
    statement_timeout: statementTimeout,
    // Longer than this server waits: it ends the transactions of a connection that broke for this server only.
    idle_in_transaction_session_timeout: statementTimeout + 2 * REPLY_TIMEOUT,
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
  pool.on("connect", (client) => {
    client.on("error", (error) => log.warn({ err: error }, "a catalog connection in use was lost"));
    const stream = streamOf(client);
    // After a failure of the network TCP itself gives up only after a quarter of an hour.
    stream.on("timeout", () => stream.destroy(new Error("Connection terminated: no reply")));
  });
  pool.on("acquire", (client) => streamOf(client).setTimeout(statementTimeout + REPLY_TIMEOUT));
  pool.on("release", (_, client) => streamOf(client).setTimeout(0));
  return pool;
}

/** Missing in the types of pg. */
const streamOf = (client: pg.PoolClient): Socket =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream;

async function writeOn<T>(
  connections: Kysely<CatalogSchema>,
  work: (transaction: Write) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    let isCommitting = false;
    try {
      return await connections.transaction().execute(async (t) => {
        const result = await work(t);
        isCommitting = true;
        return result;
      });
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !isRetryable(error)) rethrow(error, { isCommitting });
    }
  }
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
