import type { Services } from "../api/services.js";
import type { Authenticator } from "../auth/authenticator.js";
import type { KeyUses } from "../auth/key-uses.js";
import type { KeyStore } from "../catalog/keys.js";
import type { Server } from "../http/server.js";
import type { Limiter } from "../limits/limiter.js";
import { operations } from "../operations/index.js";
import type { AuditLines } from "../telemetry/audit/audit-log.js";
import { mainThreadHandler } from "../threads/forwarded-operations.js";
import type { SharedState } from "../threads/shared-state.js";
import type { Targets } from "../threads/thread-rpc.js";
import { createHttpServer } from "./http-server.js";
import { limitOwner, mainThreadLimiter, type ServerLimits } from "./open-limits.js";
import { workerMultipart } from "./worker-multipart.js";
import type { Workers } from "./workers.js";

export interface ListenOptions {
  readonly services: Services;
  readonly workers: Workers;
  readonly authenticator: Authenticator;
  readonly keys: KeyStore;
  readonly keyUses: KeyUses;
  readonly shared: SharedState;
  readonly limits: ServerLimits;
  /** Takes the lines of the audit log of all threads. */
  readonly auditLines: AuditLines | undefined;
  /** The buffer of `shareAuthCounts`. */
  readonly authCounts: SharedArrayBuffer;
}

export interface Listening {
  readonly server: Server;
  readonly port: number;
  /** Of the main thread. */
  readonly limiter: Limiter;
}

/** Accepts requests in the main thread and in the worker threads. */
export async function listen({
  services,
  workers,
  authenticator,
  keys,
  keyUses,
  shared,
  limits,
  auditLines,
  authCounts,
}: ListenOptions): Promise<Listening> {
  const { config, engine, log } = services;
  const owner = limitOwner(services);
  const limiter = mainThreadLimiter(limits, owner);
  const server = createHttpServer({ services, operations, authenticator, shared, limiter });
  // Listen unshared first: it fails if another process listens on the port.
  const port = await server.listen(config.host, config.port);
  log.info(server.transport, "the HTTP transport");
  if (config.httpThreads > 1) {
    workers.start({
      count: config.httpThreads - 1,
      input: {
        config,
        engine: engine.share(),
        shared: shared.buffer,
        requests: services.requests.buffer,
        authCounts,
        limits: { rules: limits.rules, buffers: limits.memory.buffers },
      },
      targets: {
        ...workerTargets(services, keys, keyUses),
        limitOwner: owner,
        ...(auditLines && { auditLines }),
      },
      log,
    });
    server.stopListening();
    await Promise.all([server.listen(config.host, port, true), workers.listen(config.host, port)]);
  }
  return { server, port, limiter };
}

/** The objects that worker threads call in the main thread. */
function workerTargets(services: Services, keys: KeyStore, keyUses: KeyUses): Targets {
  const { catalog, grants, jobs, transactions, idempotency, maintenance, threads } = services;
  const targets = {
    catalog,
    grants,
    jobs,
    transactions,
    multipart: workerMultipart(services),
    idempotency,
    maintenance,
    threads,
    keys,
    keyUses,
  };
  return { ...targets, operations: mainThreadHandler(services, operations) };
}
