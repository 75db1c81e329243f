import { existsSync } from "node:fs";
import { apiKeyOf } from "../config/api-key.js";
import { loadConfig } from "../config/load.js";
import { ConfigError } from "../config/option.js";
import { isRemote } from "../foundation/addresses.js";
import type { SqlFormat } from "../operations/queries/sql-statement.js";
import { setLanceEnvironment } from "../server/lance-environment.js";
import { createLogger } from "../telemetry/logger.js";
import { takeFlag } from "./flag.js";

export interface SqlRequest {
  /** JSON `{query, parameters, limit}`. */
  readonly body: Buffer;
  readonly accept: string;
}

/** The bytes of an answer as they come. A reader that stops early ends the work. */
export type Parts = AsyncIterable<Uint8Array>;

/** Asks a server. */
export async function* remoteParts(
  { body, accept }: SqlRequest,
  url: string,
  args: readonly string[],
): AsyncGenerator<Uint8Array> {
  const { value: key, rest: withoutKey } = takeFlag(args, "--api-key");
  const { value: file, rest } = takeFlag(withoutKey, "--api-key-file");
  if (rest.length > 0) throw new ConfigError(`${rest[0]} has no meaning with --url: leave it out`);
  const given = key ?? (file === undefined ? process.env.JOUST_API_KEY : undefined);
  const secret = apiKeyOf(given, file, process.cwd());
  const abort = new AbortController();
  try {
    const answer = await fetch(addressOf(url), {
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
      throw new Error(`${url} cannot be reached (${cause?.code ?? error.message})`);
    });
    if (!answer.ok) throw new Error(await refusal(answer));
    if (answer.body) {
      yield* answer.body as unknown as Parts;
    }
  } catch (error) {
    if (error instanceof TypeError && error.message === "terminated") {
      throw new Error("the server broke the answer off; its log says why");
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

async function refusal(answer: Response): Promise<string> {
  const text = await answer.text();
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    if (typeof detail === "string") return detail;
  } catch {}
  return `the server answered ${answer.status} without a reason: is it joust?`;
}

const localFormats: Readonly<Record<string, SqlFormat>> = {
  "text/csv": "csv",
  "application/x-ndjson": "json-lines",
};

/** Opens the root and the catalog, as a server without a port that others may run beside. */
export async function* localParts(
  { body, accept }: SqlRequest,
  args: readonly string[],
): AsyncGenerator<Uint8Array> {
  const config = loadConfig(args, { env: process.env, cwd: process.cwd() });
  const { root, storageOptions } = config;
  if (!isRemote(root) && !existsSync(root)) {
    throw new Error(`there is no directory ${root}: give the ROOT of a server, or --url`);
  }
  const log = createLogger(config.logLevel === "info" ? "warn" : config.logLevel);
  setLanceEnvironment(config);
  const { Engine } = await import("../engine/index.js");
  const { openCatalog } = await import("../server/open-catalog.js");
  const { adoptTables } = await import("../catalog/discovery/adoption.js");
  const { withVersionCleanUpAnswers } = await import("../maintenance/version-clean-up-answers.js");
  const { runStatement } = await import("../operations/queries/sql-statement.js");
  const engine = new Engine(config);
  await engine.openRoot(root, storageOptions);
  const onLease = (leftMs: number) => engine.renewLease(leftMs);
  const opened = await openCatalog({ root, url: config.catalog, log, role: "server", onLease });
  const store = await withVersionCleanUpAnswers(opened, { engine, storageOptions, log });
  try {
    const catalog = await adoptTables(store.catalog, { engine, root, storageOptions, log });
    const format = localFormats[accept] ?? "stream";
    const run = { format, fresh: {}, onAbort: () => {} };
    const { first, rest } = await runStatement({ config, engine, catalog }, body, run);
    try {
      yield first;
      for (let part = await rest?.next(); part; part = await rest?.next()) yield part;
    } finally {
      rest?.cancel();
    }
  } finally {
    await store.close();
  }
}
