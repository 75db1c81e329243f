import { keyOf } from "../api/validation/common-members.js";
import { parseJson } from "../api/validation/json.js";
import type { Config } from "../config/config.js";
import { type BodyKind, bodyHeaderError } from "./body-kind.js";
import type { Headers } from "./headers.js";

/** The largest body that the server reads to look for an API key in it, bytes. */
export const keyInBodyLimit = 1024 * 1024;

/** Whether a request without a key in its headers may have one in its body. */
export function mayHaveKeyInBody(headers: Headers, kind: BodyKind, config: Config): boolean {
  if (headers.hasCredentials || !headers.announcesBody || kind !== "json") return false;
  return bodyHeaderError(kind, headers, config) === undefined;
}

/** The API key in a body; "" if the body has none or is invalid. */
export function apiKeyIn(body: Uint8Array): string {
  try {
    return keyOf(parseJson(body));
  } catch {
    return "";
  }
}
