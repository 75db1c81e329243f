import { availableParallelism } from "node:os";
import { loadConfig } from "../config/load.js";
import { createLogger } from "../telemetry/logger.js";

/** `joust serve`: runs until a signal; resolves when the server has stopped. */
export async function serve(args: readonly string[]): Promise<void> {
  const config = loadConfig(args, { env: process.env, cwd: process.cwd() });
  const log = createLogger(config.logLevel);
  // One request's forgotten promise must not end the server for all others.
  process.on("unhandledRejection", (err) => log.error({ err }, "a failure that nobody handled"));
  // Lance reads these once, when it is loaded; left to itself it would compute with two cores fewer.
  const threads = config.cpuThreads ?? process.env.LANCE_CPU_THREADS ?? availableParallelism();
  process.env.LANCE_CPU_THREADS = String(threads);
  process.env.LANCE_DEFAULT_IO_BUFFER_SIZE ??= String(part(config.memoryBytes, 1 / 128, 64));
  process.env.LANCE_MEM_POOL_SIZE ??= String(part(config.memoryBytes, 1 / 24, 256));
  const { start } = await import("./start.js");
  const running = await start(config, log);
  const address = config.host.includes(":") ? `[${config.host}]` : config.host;
  process.stdout.write(`joust listening on http://${address}:${running.port}\n`);
  const signal = await stopSignal();
  log.info({ signal }, "stopping: answering what is in flight");
  await running.stop();
  process.exit(0);
}

/** A part of the memory for one scan or join inside of Lance, bytes; `mostMib` is enough for any. */
const part = (memory: number, share: number, mostMib: number): number =>
  Math.floor(Math.min(memory * share, mostMib * 2 ** 20));

/** Resolves at the first SIGTERM or SIGINT; a second one ends the process at once. */
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked = false;
    const onSignal = (signal: NodeJS.Signals) => {
      if (asked) process.exit(1);
      asked = true;
      resolve(signal);
    };
    process.on("SIGTERM", onSignal);
    process.on("SIGINT", onSignal);
  });
}
