import type { Config } from "../config/config.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import { uploadTooLarge } from "./body-sinks.js";
import type { Headers } from "./headers.js";
import type { Route } from "./route.js";

const arrowType = "application/vnd.apache.arrow.stream";

/** What a request brings. */
export type BodyKind = "arrow" | "json" | "none";

/** Told by the operation, and by the content type where that takes both. */
export function bodyKind({ operation: { body } }: Route, headers: Headers): BodyKind {
  if (body.kind === "none" || body.kind === "arrow") return body.kind;
  const isArrow = body.kind === "json" && body.orArrow && headers.mediaType === arrowType;
  return isArrow ? "arrow" : "json";
}

/** What is wrong with a body, as far as the headers tell. */
export function wrongBody(
  kind: BodyKind,
  headers: Headers,
  { maxUploadBytes, auth }: Pick<Config, "maxUploadBytes" | "auth">,
): JoustError | undefined {
  if (kind === "none" || (kind === "json" && !headers.announcesBody)) return undefined;
  const wanted = kind === "json" ? "application/json" : arrowType;
  // Browsers let any page send a body without a type to any server.
  const mayLackType = auth !== "none" || !headers.announcesBody;
  const wrong = wrongType(headers.mediaType, wanted, mayLackType);
  const isTooLarge =
    kind === "arrow" && maxUploadBytes > 0 && (headers.contentLength ?? 0) > maxUploadBytes;
  return wrong ?? (isTooLarge ? uploadTooLarge(maxUploadBytes) : undefined);
}

/** A failure for a body of another media type than the operation takes. */
function wrongType(actual: string, wanted: string, mayLackType: boolean): JoustError | undefined {
  if (actual === wanted || (actual === "" && mayLackType)) return undefined;
  const found =
    actual === "" ? "the body has no content type" : `the content type is \`${actual}\``;
  return new JoustError(ErrorCode.InvalidInput, `${found}: send \`${wanted}\``, 415);
}
