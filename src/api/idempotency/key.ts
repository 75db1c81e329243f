import { createHash } from "node:crypto";
import { invalidInput } from "../../foundation/errors.js";
import type { Dialect, Operation } from "../operation.js";
import { KEPT } from "./store.js";

/** The header that makes a request take effect once (draft-ietf-httpapi-idempotency-key-header). */
export const IDEMPOTENCY_KEY = "idempotency-key";
const REQUEST_ID = "x-request-id";

/**
 * LanceDB SDKs send a request three times within what they wait for answers, 300 s each, and keep its
 * id. People who put ids of their own there may well use one for several requests later on.
 */
const RESENT_WITHIN = 20 * 60 * 1000;
/** What the SDKs make unless they are given an id. */
const UUID_V4 = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i;

/** How a request is told from others of its caller that are to take effect once. */
export interface IdempotencyKey {
  readonly id: string;
  /** The client asked for it; else it is a guess from how the client sends again. */
  readonly asked: boolean;
  /** For how long its answer counts, ms. */
  readonly keptMillis: number;
}

/**
 * The key of a request that is to take effect once; undefined for others.
 *
 * The SDKs send what has a JSON body again by themselves, with the same `x-request-id`; for rows they
 * make a new one. @throws JoustError code 13 for a key that is none
 */
export function idempotencyKey(
  { permission, body }: Pick<Operation, "permission" | "body">,
  dialect: Dialect,
  headers: { has(name: string): boolean; get(name: string): string },
): IdempotencyKey | undefined {
  if (permission === "read") return undefined;
  if (headers.has(IDEMPOTENCY_KEY)) {
    const key = keyIn(headers.get(IDEMPOTENCY_KEY));
    return { id: hash(`${IDEMPOTENCY_KEY}:${key}`), asked: true, keptMillis: KEPT };
  }
  const requestId = headers.get(REQUEST_ID);
  if (dialect !== "lancedb" || body.kind === "arrow" || !UUID_V4.test(requestId)) return undefined;
  return { id: hash(`${REQUEST_ID}:${requestId}`), asked: false, keptMillis: RESENT_WITHIN };
}

/** The key as one caller's: another caller's equal key is another one. `caller`: its identity's id. */
export const scopeToCaller = (key: IdempotencyKey, caller: string): IdempotencyKey => ({
  ...key,
  id: hash(JSON.stringify([caller, key.id])),
});

/** A quoted string of structured fields, as the draft has it, or the bare text that most clients send. */
function keyIn(given: string): string {
  const quoted = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/.exec(given)?.[1]?.replace(/\\(.)/g, "$1");
  const key = quoted ?? given;
  if (key !== "" && key.length <= 255 && (quoted !== undefined || /^[!#-[\]-~]+$/.test(key))) {
    return key;
  }
  throw invalidInput(
    "`Idempotency-Key` must be 1 to 255 printable ASCII characters, such as a UUID, in quotes or without",
  );
}

/** No key is kept as it came. */
const hash = (text: string): string => createHash("sha256").update(text).digest("hex");
