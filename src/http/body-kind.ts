import type { Config } from "../config/config.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import { uploadTooLarge } from "./body-consumers.js";
import type { Headers } from "./headers.js";
import type { Route } from "./route.js";

const arrowType = "application/vnd.apache.arrow.stream";

/** The kind of body that a request sends. */
export type BodyKind = "arrow" | "json" | "none";

/** The operation decides the kind. If it accepts two kinds, the content type decides. */
export function bodyKind({ operation: { body } }: Route, headers: Headers): BodyKind {
  if (body.kind === "none" || body.kind === "arrow") return body.kind;
  const isArrow = body.kind === "json" && body.orArrow && headers.mediaType === arrowType;
  return isArrow ? "arrow" : "json";
}

/** The error (415 or 413) that the headers of a body show; undefined if they are valid. */
export function bodyHeaderError(
  kind: BodyKind,
  headers: Headers,
  { maxUploadBytes, auth }: Pick<Config, "maxUploadBytes" | "auth">,
): JoustError | undefined {
  if (kind === "none" || (kind === "json" && !headers.announcesBody)) return undefined;
  const expected = kind === "json" ? "application/json" : arrowType;
  // A browser lets any web page send a body without a content type to any server.
  const mayLackType = auth !== "none" || !headers.announcesBody;
  const typeError = contentTypeError(headers.mediaType, expected, mayLackType);
  const isTooLarge =
    kind === "arrow" && maxUploadBytes > 0 && (headers.contentLength ?? 0) > maxUploadBytes;
  return typeError ?? (isTooLarge ? uploadTooLarge(maxUploadBytes) : undefined);
}

function contentTypeError(
  actual: string,
  expected: string,
  mayLackType: boolean,
): JoustError | undefined {
  if (actual === expected || (actual === "" && mayLackType)) return undefined;
  const problem =
    actual === "" ? "the body has no content type" : `the content type is \`${actual}\``;
  return new JoustError(ErrorCode.InvalidInput, `${problem}: send \`${expected}\``, 415);
}
