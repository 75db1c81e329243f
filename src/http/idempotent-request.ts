import { requestFingerprint } from "../api/idempotency/fingerprint.js";
import { type IdempotencyKey, scopeToCaller } from "../api/idempotency/key.js";
import type { IdempotentBody, IdempotentRequest } from "../api/idempotency/run.js";
import type { HttpRequest } from "./http-request.js";
import type { Route } from "./route.js";

/** A request with an idempotency key, which only the caller that sent it can repeat. */
export function idempotentRequest(
  { operation, dialect }: Route,
  { path, headers }: HttpRequest,
  query: string,
  key: IdempotencyKey,
  callerId: string,
  body: IdempotentBody,
  database: readonly string[],
): IdempotentRequest {
  const header = (name: string) => headers.get(name);
  const request = { operation: operation.id, dialect, database, path, query, callerId, header };
  return {
    ...scopeToCaller(key, callerId),
    repeatable: operation.repeatable === true,
    body,
    fingerprint: (bodyDigest) => requestFingerprint(request, bodyDigest),
  };
}
