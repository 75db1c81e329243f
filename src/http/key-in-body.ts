import { keyOf } from "../api/validation/common-members.js";
import { parseJson } from "../api/validation/json.js";

/** The largest body that the server reads to look for an API key in it, bytes. */
export const keyInBodyLimit = 1024 * 1024;

/** The API key in a body; "" if the body has none or is invalid. */
export function apiKeyIn(body: Uint8Array): string {
  try {
    return keyOf(parseJson(body));
  } catch {
    return "";
  }
}
