import { createHash } from "node:crypto";
import { invalidInput } from "../../foundation/errors.js";
import type { Dialect, Operation } from "../operation.js";
import { RETENTION_MILLIS } from "./store.js";

/** The header that makes a request idempotent (draft-ietf-httpapi-idempotency-key-header). */
export const IDEMPOTENCY_KEY = "idempotency-key";
const REQUEST_ID = "x-request-id";

/**
 * LanceDB SDKs send a request up to three times with the same id and wait 300 s for each reply. A longer time
 * would match later requests of clients that set an id of their own and reuse it.
 */
const RESEND_WINDOW_MILLIS = 20 * 60 * 1000;
/** The form of the ids that the SDKs generate. */
const UUID_V4 = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i;

/** Identifies an idempotent request among those of its caller. */
export interface IdempotencyKey {
  readonly id: string;
  /** True if the client sent an idempotency key; false if the key is derived from `x-request-id`. */
  readonly explicit: boolean;
  /** How long the stored reply is valid, ms. */
  readonly retentionMillis: number;
}

/**
 * The key of an idempotent request; undefined for others.
 *
 * The SDKs resend a request with a JSON body with the same `x-request-id`; a request with rows gets a new id.
 *
 * @throws code 13 for an invalid key
 */
export function idempotencyKey(
  { permission, body }: Pick<Operation, "permission" | "body">,
  dialect: Dialect,
  headers: { has(name: string): boolean; get(name: string): string },
): IdempotencyKey | undefined {
  if (permission === "read") return undefined;
  if (headers.has(IDEMPOTENCY_KEY)) {
    const key = parseKey(headers.get(IDEMPOTENCY_KEY));
    const id = hash(`${IDEMPOTENCY_KEY}:${key}`);
    return { id, explicit: true, retentionMillis: RETENTION_MILLIS };
  }
  const requestId = headers.get(REQUEST_ID);
  if (dialect !== "lancedb" || body.kind === "arrow" || !UUID_V4.test(requestId)) return undefined;
  const id = hash(`${REQUEST_ID}:${requestId}`);
  return { id, explicit: false, retentionMillis: RESEND_WINDOW_MILLIS };
}

/** Makes equal keys of two callers different. `caller`: the id of an identity. */
export const scopeToCaller = (key: IdempotencyKey, caller: string): IdempotencyKey => ({
  ...key,
  id: hash(JSON.stringify([caller, key.id])),
});

/** The draft requires a quoted string of structured fields; most clients send the text without quotes. */
function parseKey(header: string): string {
  const quoted = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/.exec(header)?.[1]?.replace(/\\(.)/g, "$1");
  const key = quoted ?? header;
  if (key !== "" && key.length <= 255 && (quoted !== undefined || /^[!#-[\]-~]+$/.test(key))) {
    return key;
  }
  throw invalidInput(
    "`Idempotency-Key` must be 1 to 255 printable ASCII characters, such as a UUID, in quotes or without",
  );
}

/** The catalog stores only hashes of keys. */
const hash = (text: string): string => createHash("sha256").update(text).digest("hex");
