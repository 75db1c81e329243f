import { loadConfig } from "../config/load.js";
import { setLanceEnvironment } from "../server/lance-environment.js";
import { createLogger } from "../telemetry/logger.js";
import { StopSignals } from "./stop-signals.js";

/** `joust serve`: runs until a signal; resolves when the server has stopped. */
export async function serve(args: readonly string[]): Promise<void> {
  // A crash during the start is safe, so a signal needs no clean-up.
  const signals = new StopSignals();
  const config = loadConfig(args, { env: process.env, cwd: process.cwd() });
  const log = createLogger(config.logLevel);
  // A promise that one request does not handle must not end the process.
  process.on("unhandledRejection", (err) => log.error({ err }, "unhandled promise rejection"));
  setLanceEnvironment(config);
  // Load the engine before other native modules: its error describes a broken installation best.
  await import("../engine/native.js");
  const { start } = await import("../server/start.js");
  const running = await start(config, log, (forceClose) => signals.beforeExit(forceClose));
  if (signals.isExiting) return;
  // A program that reads that the server listens may stop it at once.
  const stopped = signals.next();
  const address = config.host.includes(":") ? `[${config.host}]` : config.host;
  const scheme = config.tls ? "https" : "http";
  process.stdout.write(`joust listening on ${scheme}://${address}:${running.port}\n`);
  // Without these options the default action of SIGHUP stays: the process ends with its terminal.
  if (config.tls || config.limitsFile || config.auditLog) {
    process.on("SIGHUP", () => void running.reload());
  }
  const signal = await stopped;
  log.info({ signal }, "stopping: finishing the requests in flight");
  await running.stop();
  process.exit(0);
}
