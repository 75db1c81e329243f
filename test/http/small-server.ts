import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { afterAll, beforeAll } from "vitest";
import { accessTo } from "../../src/api/access.js";
import {
  type Body,
  type Operation,
  operation,
  type Reply,
  type Translation,
} from "../../src/api/operation.js";
import type { Services } from "../../src/api/services.js";
import { type Authenticator, allowAll } from "../../src/auth/authenticator.js";
import type { Config } from "../../src/config/config.js";
import { Engine, Upload } from "../../src/engine/index.js";
import { BodyLimiter } from "../../src/http/body-limiter.js";
import { ReplyLimiter } from "../../src/http/reply-limiter.js";
import { Server } from "../../src/http/server.js";
import type { Limiter } from "../../src/limits/limiter.js";
import type { Freshness } from "../../src/tables/target.js";
import { createLogger, type Logger } from "../../src/telemetry/logger.js";
import { RequestMetrics } from "../../src/telemetry/request-metrics.js";
import { Client } from "../harness/client.js";

export interface SmallServer {
  readonly url: string;
  readonly client: Client;
  readonly server: Server;
}

export interface SmallServerOptions {
  operations: readonly Operation[];
  translations?: readonly Translation[];
  authenticator?: Authenticator;
  config?: Partial<Config>;
  bodyLimiter?: BodyLimiter;
  unauthenticatedBodyLimiter?: BodyLimiter;
  /** Pages that need no key. */
  page?: (path: string) => Reply | undefined;
  log?: Logger;
  replyLimiter?: ReplyLimiter;
  /** Replaces the engine's uploads. */
  openUpload?: () => Upload;
  limiter?: Limiter;
}

/** Starts the HTTP server with the operations of a test file. */
export function setupSmallServer(options: SmallServerOptions): SmallServer {
  const http = process.env.JOUST_TEST_HTTP ?? "auto";
  const config = {
    http,
    maxJsonBytes: 64 * 1024,
    maxUploadBytes: 0,
    requestTimeoutMs: 0,
    ...options.config,
  };
  const engine = new Engine();
  const server = new Server({
    services: {
      config,
      requests: RequestMetrics.create([], 1),
      log: options.log ?? createLogger("silent"),
      // No caller has a grant.
      grants: { version: () => undefined, heldSync: () => [], held: async () => [] },
    } as unknown as Services,
    operations: options.operations,
    translations: options.translations ?? [],
    page: options.page ?? (() => undefined),
    bodyLimiter: options.bodyLimiter ?? BodyLimiter.forAuthenticated(1 << 30),
    unauthenticatedBodyLimiter:
      options.unauthenticatedBodyLimiter ?? BodyLimiter.forUnauthenticated(1 << 30),
    ...(options.limiter && { limiter: options.limiter }),
    replyLimiter: options.replyLimiter ?? ReplyLimiter.of(1 << 30),
    authenticator: options.authenticator ?? allowAll,
    openUpload: options.openUpload ?? (() => new Upload(engine)),
  });
  const small = { server, url: "", client: new Client("", "") };
  beforeAll(async () => {
    small.url = `http://127.0.0.1:${await server.listen("127.0.0.1", 0)}`;
    small.client = new Client(small.url, "");
  });
  afterAll(async () => {
    await server.drain(1_000);
  });
  return small;
}

/** A privilege that only this role and higher ones have. */
const privilegeOf = { read: "select", write: "insert", admin: "manage" } as const;

/** An operation with a path, a handler and defaults. */
export function plain<P extends TSchema, B extends Body>(
  {
    permission = "read",
    ...declaration
  }: {
    id: string;
    path: string;
    params?: P;
    body?: B;
    methods?: Operation["methods"];
    permission?: Operation["permission"];
    limited?: Operation["limited"];
  },
  handle: (call: {
    id: readonly string[];
    path: Readonly<Record<string, string>>;
    params: Static<P>;
    // biome-ignore lint/suspicious/noExplicitAny: as declared by the operation's body
    payload: any;
    context: Readonly<Record<string, string>>;
    requestId: string;
    fresh: Freshness;
    timeLeftMs: number | undefined;
    header(name: string): string;
    onAbort(work: () => void): void;
  }) => Reply | Promise<Reply>,
): Operation {
  return operation({
    methods: ["POST"],
    summary: "",
    tag: "Test",
    access: accessTo("server", privilegeOf[permission]),
    params: Type.Object({}),
    body: { kind: "json", schema: Type.Object({}) },
    uses: [],
    ...declaration,
    handle: (_services, call) => handle(call),
  } as Parameters<typeof operation>[0]);
}
