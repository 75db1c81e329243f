/** The program of a worker thread that serves requests. `Workers` (workers.ts) starts it. */
import "../threads/young-generation.js";
import { parentPort, workerData } from "node:worker_threads";
import { ReportedKeyUses } from "../auth/key-uses.js";
import type { Config } from "../config/config.js";
import { Engine } from "../engine/index.js";
import { requestOperations } from "../http/request-operations.js";
import type { Server } from "../http/server.js";
import { type LimitBuffers, LimitMemory } from "../limits/limit-memory.js";
import type { LimitOwner } from "../limits/limit-owner.js";
import type { LimitRules } from "../limits/limit-rules.js";
import { Limiter } from "../limits/limiter.js";
import { operations } from "../operations/index.js";
import { endTableWorkInThread } from "../tables/table-writes.js";
import { AuditBuffer } from "../telemetry/audit/audit-log.js";
import { attachAuthCounts } from "../telemetry/auth-counts.js";
import { createLogger } from "../telemetry/logger.js";
import { startTracing, stopTracing } from "../telemetry/otlp/start.js";
import { RequestMetrics } from "../telemetry/request-metrics.js";
import { tracing } from "../telemetry/tracing.js";
import { forwardToMainThread } from "../threads/forwarded-operations.js";
import { SharedState } from "../threads/shared-state.js";
import { type Port, ThreadRpc } from "../threads/thread-rpc.js";
import { createHttpServer } from "./http-server.js";
import { remoteAuditLines, workerAuditLog } from "./open-audit.js";
import { createAuthenticator, loadOidc } from "./open-authenticator.js";
import { traceEngine } from "./trace-engine.js";
import { workerServices } from "./worker-services.js";

/** The data that the main thread passes to a new thread. */
export interface WorkerInput {
  /** Name of the thread, for the log. */
  readonly name: string;
  /** Of the thread. The main thread is 0. */
  readonly number: number;
  readonly config: Config;
  /** The number under which the main thread shares its engine. */
  readonly engine: number;
  readonly shared: SharedArrayBuffer;
  /** The buffer of `RequestMetrics`. */
  readonly requests: SharedArrayBuffer;
  /** The buffer of `shareAuthCounts`. */
  readonly authCounts: SharedArrayBuffer;
  readonly limits: { readonly rules: LimitRules; readonly buffers: LimitBuffers };
}

/** The objects that the main thread calls. */
export interface WorkerTargets {
  readonly server: Server;
  readonly thread: {
    endTableWork(key: string): Promise<void>;
    /** Sends the spans and the lines of the audit log that wait. */
    flush(): Promise<void>;
  };
}

const input = workerData as WorkerInput;
const { config } = input;
const log = createLogger(config.logLevel, { thread: input.name });
process.on("unhandledRejection", (err) => log.error({ err }, "unhandled promise rejection"));

// Before the channel to the main thread opens: a message must not arrive before the server exists.
const oidc = await loadOidc(config);
const shared = new SharedState(input.shared);
attachAuthCounts(input.authCounts, input.number);
const engine = Engine.attach(input.engine);
await startTracing(config.otlp, log, input.name);
if (tracing) traceEngine(tracing);
const targets = {
  thread: {
    endTableWork: (key: string) => endTableWorkInThread({ engine }, key),
    async flush() {
      buffer?.flush();
      await stopTracing();
    },
  },
} as { -readonly [Name in keyof WorkerTargets]: WorkerTargets[Name] };
const mainThread = new ThreadRpc(parentPort as Port, targets);
const buffer = config.auditLog && new AuditBuffer(remoteAuditLines(mainThread));
const audit = buffer && workerAuditLog(buffer);
const names = requestOperations(operations);
const requests = RequestMetrics.attach(names, input.requests, input.number);
const base = { config, engine, log, shared, mainThread, audit, requests };
const { services, keys } = workerServices(base);
const keyUses = new ReportedKeyUses((id) => mainThread.notify("keyUses", "add", [id]));
targets.server = createHttpServer({
  services,
  operations: forwardToMainThread(operations, mainThread),
  authenticator: createAuthenticator({ config, keys, keyUses, oidc, log }),
  shared,
  limiter: workerLimiter(),
});

/** The limits of this thread. The main thread decides those that need the catalog. */
function workerLimiter(): Limiter {
  const { rules, buffers } = input.limits;
  const owner = mainThread.remote<LimitOwner>("limitOwner", {
    tableChanged: (id) => mainThread.notify("limitOwner", "tableChanged", [id]),
    endReservation: (ticket, job) =>
      mainThread.notify("limitOwner", "endReservation", [ticket, job]),
  });
  return new Limiter(rules, new LimitMemory(buffers), owner);
}

// A thread with an open socket cannot exit, and the main thread would not learn of the failure.
process.on("uncaughtException", (err) => {
  log.error({ err }, "a thread that serves requests has failed");
  targets.server.closeConnections();
  process.exit(1);
});
