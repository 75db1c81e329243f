import { existsSync } from "node:fs";
import { apiKeyOf } from "../config/api-key.js";
import { loadConfig } from "../config/load.js";
import { ConfigError } from "../config/option.js";
import { isRemote } from "../foundation/addresses.js";
import type { SqlFormat } from "../operations/queries/sql-statement.js";
import { setLanceEnvironment } from "../server/lance-environment.js";
import { createLogger } from "../telemetry/logger.js";
import { takeFlags } from "./take-flags.js";

export interface SqlRequest {
  /** JSON `{query, parameters, limit}`. */
  readonly body: Buffer;
  readonly accept: string;
}

/** The bytes of a result as they arrive. If the reader stops early, the query is cancelled. */
export type Parts = AsyncIterable<Uint8Array>;

/** Runs the statement on a server. */
export async function* remoteParts(
  { body, accept }: SqlRequest,
  url: string,
  args: readonly string[],
): AsyncGenerator<Uint8Array> {
  const { flags, rest } = takeFlags(args, ["--api-key", "--api-key-file"]);
  const { "--api-key": flag, "--api-key-file": file } = flags;
  if (rest.length > 0) throw new ConfigError(`${rest[0]} has no effect with --url: remove it`);
  const key = flag ?? (file === undefined ? process.env.JOUST_API_KEY : undefined);
  const secret = apiKeyOf(key, file, process.cwd());
  const abort = new AbortController();
  try {
    const reply = await fetch(addressOf(url), {
      method: "POST",
      headers: {
        accept,
        "content-type": "application/json",
        ...(secret !== undefined && { authorization: `Bearer ${secret}` }),
      },
      body,
      signal: abort.signal,
    }).catch((error: Error) => {
      const { cause } = error as { cause?: { code?: string } };
      throw new Error(`${url} is unreachable (${cause?.code ?? error.message})`);
    });
    if (!reply.ok) throw new Error(await errorMessage(reply));
    if (reply.body) {
      yield* reply.body as unknown as Parts;
    }
  } catch (error) {
    if (error instanceof TypeError && error.message === "terminated") {
      throw new Error("the server aborted the reply; its log contains the cause");
    }
    throw error;
  } finally {
    abort.abort();
  }
}

function addressOf(url: string): URL {
  try {
    const base = new URL(url.endsWith("/") ? url : `${url}/`);
    if (base.protocol === "http:" || base.protocol === "https:") return new URL("v1/sql", base);
  } catch {}
  throw new ConfigError(`--url must be an http or https URL, got "${url}"`);
}

async function errorMessage(reply: Response): Promise<string> {
  const text = await reply.text();
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    if (typeof detail === "string") return detail;
  } catch {}
  return `the server replied ${reply.status} without an error message: it may not be joust`;
}

const localFormats: Readonly<Record<string, SqlFormat>> = {
  "text/csv": "csv",
  "application/x-ndjson": "json-lines",
  "application/vnd.apache.parquet": "parquet",
};

/** Opens the root as a member of the cluster without a port. Servers may use the root at the same time. */
export async function* localParts(
  { body, accept }: SqlRequest,
  args: readonly string[],
): AsyncGenerator<Uint8Array> {
  const config = loadConfig(args, { env: process.env, cwd: process.cwd() });
  const { root, storageOptions } = config;
  if (!isRemote(root) && !existsSync(root)) {
    throw new Error(`the directory ${root} does not exist: give the ROOT of a server, or --url`);
  }
  const log = createLogger(config.logLevel === "info" ? "warn" : config.logLevel);
  setLanceEnvironment(config);
  const { openStorage } = await import("../server/open-storage.js");
  const { adoptTables } = await import("../catalog/discovery/adoption.js");
  const { runStatement } = await import("../operations/queries/sql-statement.js");
  const { startRemovalAcknowledgements } = await import("../tables/table-removal.js");
  const { endTableWorkInThread } = await import("../tables/table-writes.js");
  const { engine, store } = await openStorage(config, log);
  try {
    const catalog = await adoptTables(store.catalog, { engine, root, storageOptions, log });
    const threads = { endTableWork: (key: string) => endTableWorkInThread({ engine }, key) };
    // This process runs no jobs.
    const jobs = { cancelTable: async () => true };
    const stopWatching = startRemovalAcknowledgements({ engine, catalog, jobs, threads, log });
    const format = localFormats[accept] ?? "stream";
    const run = { format, fresh: {}, onAbort: () => {} };
    try {
      const { first, rest } = await runStatement({ config, engine, catalog }, body, run);
      try {
        yield first;
        for (let part = await rest?.next(); part; part = await rest?.next()) yield part;
      } finally {
        rest?.cancel();
      }
    } finally {
      await stopWatching();
    }
  } finally {
    await store.close();
  }
}
