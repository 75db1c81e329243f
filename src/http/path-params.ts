import type { RawParams } from "../api/operation.js";
import { decode, defaultDelimiter, parseIdentifier } from "../api/validation/identifier.js";
import { invalidInput } from "../foundation/errors.js";
import type { RouteMatch } from "./router.js";

const noPathParams: Readonly<Record<string, string>> = Object.freeze({});

/** The components of the id in a path; [] without one. @throws code 13 */
export function pathId(segments: RouteMatch["segments"], raw: RawParams): string[] {
  const segment = segments.id;
  if (segment === undefined) return [];
  const delimiter = raw.delimiter ?? defaultDelimiter;
  if (typeof delimiter !== "string" || delimiter === "") {
    throw invalidInput("`delimiter` must be given once and not be empty");
  }
  return parseIdentifier(segment, delimiter);
}

/** Path parameters other than the id. @throws code 13 */
export function pathParams(segments: RouteMatch["segments"]): Readonly<Record<string, string>> {
  let params: Record<string, string> | undefined;
  for (const name in segments) {
    if (name === "id") continue;
    params ??= {};
    params[name] = decode(segments[name] as string, `\`${name}\` in the path`);
  }
  return params ?? noPathParams;
}
