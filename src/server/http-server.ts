import { docsPage } from "../api/openapi/docs.js";
import type { Operation } from "../api/operation.js";
import type { Services } from "../api/services.js";
import type { Authenticator } from "../auth/authenticator.js";
import { Upload } from "../engine/index.js";
import { BodyLimiter } from "../http/body-limiter.js";
import { ReplyLimiter } from "../http/reply-limiter.js";
import { Server } from "../http/server.js";
import type { Limiter } from "../limits/limiter.js";
import { translations } from "../operations/index.js";
import type { SharedState } from "../threads/shared-state.js";

export interface HttpServerDependencies {
  readonly services: Services;
  readonly operations: readonly Operation[];
  readonly authenticator: Authenticator;
  readonly shared: SharedState;
  readonly limiter: Limiter | undefined;
}

/** The HTTP server of one thread. All threads share the memory limit of request bodies. */
export function createHttpServer(dependencies: HttpServerDependencies): Server {
  const { services, operations, authenticator, shared, limiter } = dependencies;
  const { config, engine } = services;
  return new Server({
    services,
    operations,
    translations,
    page: docsPage,
    isWarming: shared.warming.get,
    authenticator,
    ...(limiter && { limiter }),
    openUpload: () => new Upload(engine),
    bodyLimiter: BodyLimiter.forAuthenticated(config.memoryBytes, shared.bodyBytes),
    unauthenticatedBodyLimiter: BodyLimiter.forUnauthenticated(config.memoryBytes),
    replyLimiter: ReplyLimiter.of(engine.memory().work, config.httpThreads),
  });
}
