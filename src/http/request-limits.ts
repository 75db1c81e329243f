import type { Call, Operation } from "../api/operation.js";
import { defaultDelimiter, parseIdentifier } from "../api/validation/identifier.js";
import { parseQuery } from "../api/validation/params.js";
import type { Identity } from "../auth/authenticator.js";
import { ErrorCode, hasCode } from "../foundation/errors.js";
import type { Limiter } from "../limits/limiter.js";
import type { RequestAdmission } from "../limits/request-admission.js";
import type { BodyConsumer } from "./body-consumers.js";
import type { HttpRequest } from "./http-request.js";
import type { Route } from "./route.js";

/** A refused body up to this size is read, so that the client sees the reason, bytes. */
const SMALL_BODY = 64 * 1024;

/** Counts a request of an authenticated caller. @throws LimitExceeded */
export function admitRequest(
  limiter: Limiter,
  request: HttpRequest,
  route: Route,
  caller: Identity,
  { id, query, database }: { id: string | undefined; query: string; database: readonly string[] },
): RequestAdmission {
  const named = id === undefined ? undefined : namespaceOf(route.operation.path, id, query);
  // Every request in a database counts for it.
  const namespace = database.length > 0 ? [...database, ...(named ?? [])] : named;
  const { limited: work = [], storedTables } = route.operation;
  const admission = limiter.admit({ caller, namespace, work, storedTables });
  request.onRelease(() => admission.end());
  return admission;
}

/**
 * Checks the rows and bytes of the caller and of the namespace of an operation that is a part of a request: a change by a
 * SQL statement. Resolves to what the limits count of it.
 *
 * @throws LimitExceeded
 */
export async function admitPart(
  limiter: Limiter,
  operation: Operation,
  caller: Identity,
  call: Call<unknown, unknown>,
): Promise<RequestAdmission> {
  const { id } = call;
  const isNamespace = operation.path.startsWith("/v1/namespace/");
  const namespace = isNamespace ? id : id.slice(0, -1);
  const { limited: work = [], storedTables } = operation;
  const admission = storedTables
    ? limiter.storage(caller, storedTables(call))
    : limiter.part({ caller, namespace, work });
  await admission.checkStorage();
  return admission;
}

/** Counts an unauthenticated request. A client beyond its budget may not send a long body. @throws LimitExceeded */
export function admitUnauthenticated(limiter: Limiter, request: HttpRequest): void {
  closeOnRefusal(request, () =>
    limiter.admitUnauthenticated(request.remoteAddress, request.headers.get("x-forwarded-for")),
  );
}

/** The error for a caller without a valid credential: counts the request, and is 429 beyond the budget. */
export function refusalOf(limiter: Limiter, request: HttpRequest, error: unknown): unknown {
  if (!hasCode(error, ErrorCode.Unauthenticated)) return error;
  try {
    admitUnauthenticated(limiter, request);
    return error;
  } catch (refusal) {
    return refusal;
  }
}

/** As `admitUnauthenticated`, without counting the request: the body may still authenticate it. */
export function checkUnauthenticated(limiter: Limiter, request: HttpRequest): void {
  closeOnRefusal(request, () =>
    limiter.checkUnauthenticated(request.remoteAddress, request.headers.get("x-forwarded-for")),
  );
}

function closeOnRefusal(request: HttpRequest, admit: () => void): void {
  try {
    admit();
  } catch (error) {
    const { announcesBody, contentLength } = request.headers;
    if (announcesBody && (contentLength ?? Infinity) > SMALL_BODY) request.limitBody(0);
    throw error;
  }
}

/** Counts the bytes of a body for the limits of its caller. */
export const meteredBody = (consumer: BodyConsumer, admission: RequestAdmission): BodyConsumer => ({
  push(chunk) {
    admission.chargeUpload(chunk.byteLength);
    consumer.push(chunk);
  },
  end: () => consumer.end(),
  fail: (error) => consumer.fail(error),
});

/** The namespace of the object in a path. A malformed id has none: its request fails later. */
function namespaceOf(path: string, id: string, query: string): readonly string[] | undefined {
  const isNamespace = path.startsWith("/v1/namespace/");
  if (!isNamespace && !/^\/v1\/(table|materialized_view)\//.test(path)) return undefined;
  try {
    const { delimiter = defaultDelimiter } = parseQuery(query);
    if (typeof delimiter !== "string" || delimiter === "") return undefined;
    const parts = parseIdentifier(id, delimiter);
    return isNamespace ? parts : parts.slice(0, -1);
  } catch {
    return undefined;
  }
}
