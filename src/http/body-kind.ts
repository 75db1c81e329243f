import type { Config } from "../config/config.js";
import { ErrorCode, JoustError } from "../errors.js";
import { uploadTooLarge } from "./body.js";
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
  { maxUploadBytes }: Pick<Config, "maxUploadBytes">,
): JoustError | undefined {
  if (kind === "none") return undefined;
  if (kind === "json") {
    return headers.announcesBody ? wrongType(headers.mediaType, "application/json") : undefined;
  }
  const isTooLarge = maxUploadBytes > 0 && (headers.contentLength ?? 0) > maxUploadBytes;
  const tooLarge = isTooLarge ? uploadTooLarge(maxUploadBytes) : undefined;
  return wrongType(headers.mediaType, arrowType) ?? tooLarge;
}

/** A failure for a body of another media type than the operation takes; none named is fine. */
function wrongType(actual: string, wanted: string): JoustError | undefined {
  if (actual === "" || actual === wanted) return undefined;
  return new JoustError(
    ErrorCode.InvalidInput,
    `the content type is \`${actual}\`: send \`${wanted}\``,
    415,
  );
}
