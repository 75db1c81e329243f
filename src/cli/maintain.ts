import { loadConfig } from "../config/load.js";
import { setLanceEnvironment } from "../server/lance-environment.js";
import { createLogger } from "../telemetry/logger.js";
import { StopSignals } from "./stop-signals.js";
import { takeFlags } from "./take-flags.js";

/**
 * `joust maintain`: maintains all tables, or one table, as servers do in the background.
 *
 * It joins the cluster as a member without a port and queues jobs. A table has at most one job of each
 * kind, so the command may run beside servers of the same root. A server may run the job; the command waits
 * for the result.
 */
export async function maintain(args: readonly string[]): Promise<void> {
  const signals = new StopSignals();
  const { flags, rest } = takeFlags(args, ["--table"]);
  const config = loadConfig(rest, { env: process.env, cwd: process.cwd() });
  // The command prints its progress itself.
  const log = createLogger(config.logLevel === "info" ? "warn" : config.logLevel);
  // The engine reads the environment when it is loaded, so the import is after this call.
  setLanceEnvironment(config);
  const { maintainRoot } = await import("./maintain-root.js");
  await maintainRoot(config, { log, signals, name: flags["--table"] });
}
