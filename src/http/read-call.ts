import { idInDatabase } from "../api/database.js";
import { contextOf } from "../api/validation/common-members.js";
import { checkBodyId } from "../api/validation/identifier.js";
import { parseJson } from "../api/validation/json.js";
import { parseQuery } from "../api/validation/params.js";
import type { ArrowBody } from "../engine/index.js";
import type { HttpRequest } from "./http-request.js";
import { pathId, pathParams } from "./path-params.js";
import { RequestCall } from "./request-call.js";
import type { Route } from "./route.js";
import type { RouteMatch } from "./router.js";

/** The content of a request whose body is complete or streams. */
export interface RequestContent {
  readonly segments: RouteMatch["segments"];
  readonly query: string;
  /** The namespace that all names in the request are relative to. */
  readonly database: readonly string[];
  /** A complete JSON body; undefined if the operation reads the body undecoded. */
  readonly json: Uint8Array | undefined;
  /** The body for an operation that reads it undecoded. */
  readonly raw: ArrowBody | undefined;
  readonly timeLeftMs: number | undefined;
  readonly authorize: RequestCall["authorize"];
}

/** Parses and validates a request. @throws JoustError 400 */
export function readCall(request: HttpRequest, route: Route, content: RequestContent): RequestCall {
  const { segments, database } = content;
  const raw = parseQuery(content.query);
  const id = pathId(segments, raw);
  const body =
    content.json && jsonBody(route, content.json, segments.id === undefined ? undefined : id);
  const names = database.length > 0 ? route.operation.contentNames : undefined;
  const payload = body && names?.body ? names.body(body, database) : body;
  return new RequestCall(
    request,
    route.dialect,
    idInDatabase(route.operation, id, database),
    database,
    pathParams(segments),
    route.params.read(route.translation?.params?.(raw, database) ?? raw),
    payload ?? content.raw,
    contextOf(request.headers, body),
    request.headers.fresh(),
    content.timeLeftMs,
    content.authorize,
  );
}

/** `id`: the one in the path as the client sent it; undefined if the path has none. */
function jsonBody(
  route: Route,
  bytes: Uint8Array,
  id: readonly string[] | undefined,
): Record<string, unknown> {
  const body = parseJson(bytes);
  if (id !== undefined) checkBodyId(body.id, id);
  const canonical = route.translation?.body?.(body) ?? body;
  route.body?.validate(canonical);
  return canonical;
}
