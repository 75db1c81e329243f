/** The program of a worker thread that serves requests. `Workers` (workers.ts) starts it. */
import "../threads/young-generation.js";
import { parentPort, workerData } from "node:worker_threads";
import { ReportedKeyUses } from "../auth/key-uses.js";
import type { Config } from "../config/config.js";
import { Engine } from "../engine/index.js";
import type { Server } from "../http/server.js";
import { operations } from "../operations/index.js";
import { releaseTableInThread } from "../tables/table-writes.js";
import { createLogger } from "../telemetry/logger.js";
import { forwardToMainThread } from "../threads/forwarded-operations.js";
import { SharedState } from "../threads/shared-state.js";
import { type Port, ThreadRpc } from "../threads/thread-rpc.js";
import { createHttpServer } from "./http-server.js";
import { createAuthenticator, loadOidc } from "./open-authenticator.js";
import { workerServices } from "./worker-services.js";

/** The data that the main thread passes to a new thread. */
export interface WorkerInput {
  /** Name of the thread, for the log. */
  readonly name: string;
  readonly config: Config;
  /** The number under which the main thread shares its engine. */
  readonly engine: number;
  readonly shared: SharedArrayBuffer;
}

/** The objects that the main thread calls. */
export interface WorkerTargets {
  readonly server: Server;
  readonly thread: { releaseTable(key: string): Promise<void> };
}

const input = workerData as WorkerInput;
const { config } = input;
const log = createLogger(config.logLevel, { thread: input.name });
process.on("unhandledRejection", (err) => log.error({ err }, "unhandled promise rejection"));

// Before the channel to the main thread opens: a message must not arrive before the server exists.
const oidc = await loadOidc(config);
const shared = new SharedState(input.shared);
const engine = Engine.attach(input.engine);
const targets = {
  thread: { releaseTable: (key: string) => releaseTableInThread({ engine }, key) },
} as { -readonly [Name in keyof WorkerTargets]: WorkerTargets[Name] };
const mainThread = new ThreadRpc(parentPort as Port, targets);
const { services, keys } = workerServices({ config, engine, log, shared, mainThread });
const keyUses = new ReportedKeyUses((id) => mainThread.notify("keyUses", "add", [id]));
targets.server = createHttpServer({
  services,
  operations: forwardToMainThread(operations, mainThread),
  authenticator: createAuthenticator({ config, keys, keyUses, oidc, log }),
  shared,
});

// A thread with an open socket cannot exit, and the main thread would not learn of the failure.
process.on("uncaughtException", (err) => {
  log.error({ err }, "a thread that serves requests has failed");
  targets.server.closeConnections();
  process.exit(1);
});
