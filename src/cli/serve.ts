import { loadConfig } from "../config/load.js";
import { setLanceEnvironment } from "../server/lance-environment.js";
import { createLogger } from "../telemetry/logger.js";

/** `joust serve`: runs until a signal; resolves when the server has stopped. */
export async function serve(args: readonly string[]): Promise<void> {
  const config = loadConfig(args, { env: process.env, cwd: process.cwd() });
  const log = createLogger(config.logLevel);
  // One request's forgotten promise must not end the server for all others.
  process.on("unhandledRejection", (err) => log.error({ err }, "a failure that nobody handled"));
  setLanceEnvironment(config);
  // Before anything else that is compiled: it is the first to say what is wrong with an installation.
  await import("../engine/native.js");
  const { start } = await import("../server/start.js");
  const running = await start(config, log);
  const address = config.host.includes(":") ? `[${config.host}]` : config.host;
  const scheme = config.tls ? "https" : "http";
  process.stdout.write(`joust listening on ${scheme}://${address}:${running.port}\n`);
  // Without TLS the signal keeps its meaning: the terminal is gone.
  if (config.tls) process.on("SIGHUP", () => void running.reloadTls());
  const signal = await stopSignal(() => running.forceClose());
  log.info({ signal }, "stopping: answering what is in flight");
  await running.stop();
  process.exit(0);
}

/** Resolves at the first SIGTERM or SIGINT; a second one ends the process after what `giveUp` does. */
function stopSignal(giveUp: () => Promise<void>): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked = false;
    const onSignal = (signal: NodeJS.Signals) => {
      if (asked) {
        void giveUp().finally(() => process.exit(1));
        return;
      }
      asked = true;
      resolve(signal);
    };
    process.on("SIGTERM", onSignal);
    process.on("SIGINT", onSignal);
  });
}
