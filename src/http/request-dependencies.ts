import type { Services } from "../api/services.js";
import type { Authenticator } from "../auth/authenticator.js";
import type { Upload } from "../engine/index.js";
import type { Limiter } from "../limits/limiter.js";
import type { BodyLimiter } from "./body-limiter.js";

export interface RequestDependencies {
  readonly services: Services;
  readonly authenticator: Authenticator;
  /** Opens the engine's end of an upload. */
  openUpload(): Upload;
  readonly bodyLimiter: BodyLimiter;
  /** For bodies that the server reads before it has authenticated their callers. */
  readonly unauthenticatedBodyLimiter: BodyLimiter;
  readonly limiter?: Limiter;
}
