import type { Config } from "../config/config.js";
import { loadConfig } from "../config/load.js";
import { type OpenCatalog, openCatalog } from "../server/open-catalog.js";
import { createLogger } from "../telemetry/logger.js";

/** Runs work on the catalog that options name, also while a server uses it. */
export async function withCatalog(
  args: readonly string[],
  work: (catalog: OpenCatalog, config: Config) => Promise<void>,
): Promise<void> {
  const config = loadConfig(args, { env: process.env, cwd: process.cwd() });
  const log = createLogger(config.logLevel);
  const store = await openCatalog({ root: config.root, url: config.catalog, log, role: "tool" });
  try {
    await work(store, config);
  } finally {
    await store.close();
  }
}
