/** A thread beside the first that takes requests: what the `Worker` of workers.ts runs. */
import "../threads/young-generation.js";
import { parentPort, workerData } from "node:worker_threads";
import { docsPage } from "../api/openapi/docs.js";
import { allowAll, KeyAuthenticator } from "../auth/authenticator.js";
import type { Config } from "../config/config.js";
import { Engine, Upload } from "../engine/index.js";
import { BodyLimiter } from "../http/body-limiter.js";
import { ReplyLimiter } from "../http/reply-limiter.js";
import { Server } from "../http/server.js";
import { operations, translations } from "../operations/index.js";
import { releaseTableInThread } from "../tables/table-writes.js";
import { createLogger } from "../telemetry/logger.js";
import { forwardToMainThread } from "../threads/forwarded-operations.js";
import { SharedState } from "../threads/shared-state.js";
import { type Port, ThreadRpc } from "../threads/thread-rpc.js";
import { workerServices } from "./worker-services.js";

/** What the first thread gives with it. */
export interface WorkerInput {
  /** The thread's name, for the log. */
  readonly name: string;
  readonly config: Config;
  /** The number of the first thread's engine. */
  readonly engine: number;
  readonly shared: SharedArrayBuffer;
}

/** What the first thread calls. */
export interface WorkerTargets {
  readonly server: Server;
  readonly thread: { leaveTable(key: string): Promise<void> };
}

const given = workerData as WorkerInput;
const { config } = given;
const log = createLogger(config.logLevel, { thread: given.name });
process.on("unhandledRejection", (err) => log.error({ err }, "a failure that nobody handled"));

const shared = new SharedState(given.shared);
const engine = Engine.attach(given.engine);
const targets = {
  thread: { leaveTable: (key: string) => releaseTableInThread({ engine }, key) },
} as { -readonly [Name in keyof WorkerTargets]: WorkerTargets[Name] };
const first = new ThreadRpc(parentPort as Port, targets);
const { services, keys } = workerServices({ config, engine, log, shared, first });
targets.server = new Server({
  services,
  operations: forwardToMainThread(operations, first),
  translations,
  page: docsPage,
  isWarming: shared.warming.get,
  authenticator: config.auth === "none" ? allowAll : new KeyAuthenticator(keys, config.apiKey),
  openUpload: () => new Upload(engine),
  bodyLimiter: BodyLimiter.forAuthenticated(config.memoryBytes, shared.bodyBytes),
  unauthenticatedBodyLimiter: BodyLimiter.forUnauthenticated(config.memoryBytes),
  replyLimiter: ReplyLimiter.of(engine.memory().work, config.httpThreads),
});

// With an open socket the thread could not end, and the first one would not be told.
process.on("uncaughtException", (err) => {
  log.error({ err }, "a thread that takes requests has failed");
  targets.server.closeConnections();
  process.exit(1);
});
