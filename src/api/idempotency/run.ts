import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { asJoustError, ErrorCode, JoustError } from "../../foundation/errors.js";
import type { Reply } from "../operation.js";
import type { Services } from "../services.js";
import type { Attempt, StoredReply, StoredRequest } from "./idempotency.js";

/** The header of a stored reply. */
const REPLAYED = "idempotent-replayed";
/** How long a repetition waits for the reply of the first request, and how often it polls, ms. */
const MAX_WAIT_MILLIS = 10_000;
const POLL_MILLIS = 50;

/** The body of an idempotent request. */
export interface IdempotentBody {
  /** SHA-256 of the complete body. Resolves once the body has arrived. */
  readonly digest: Promise<Buffer>;
  /** The complete body arrives before the handler starts. */
  readonly whole: boolean;
  /** Lets the handler read the end of the body. The handler commits nothing before. */
  release(): void;
  /** Discards the rest of the body: no reader remains. */
  ignore(): void;
}

export interface IdempotentRequest {
  /** Derived from the key; the same for all repetitions. */
  readonly id: string;
  /** True if the client sent an idempotency key; false if the key is derived from `x-request-id`. */
  readonly explicit: boolean;
  /** How long the stored reply is valid, ms. */
  readonly retentionMillis: number;
  /** Whether the handler can continue an earlier attempt (`Operation.repeatable`). */
  readonly repeatable: boolean;
  readonly body: IdempotentBody;
  /** A hash of everything that distinguishes this request from another one. */
  fingerprint(digest: Buffer): string;
}

type Handle = (attempt?: Attempt) => Promise<Reply> | Reply;
type Dependencies = Pick<Services, "idempotency" | "log">;

/**
 * Handles a request, or replays the reply of the first request with its key.
 *
 * Only successful replies are stored. After code 17 or 18, and after any error of a later attempt, the outcome is
 * unknown: the next attempt asks the table. A first attempt that failed with another code changed nothing, so the client
 * may send it again.
 *
 * @throws code 13 (status 422) if another request used the key; code 14 if the first request still runs, or if its
 * outcome is unknown
 */
export async function runIdempotent(
  services: Dependencies,
  request: IdempotentRequest,
  handle: Handle,
): Promise<Reply> {
  const { id, retentionMillis, repeatable, explicit, body } = request;
  const stored = await services.idempotency.find(id, retentionMillis);
  if (stored === undefined) return runAttempt(services, request, handle, { id: randomUUID() });
  if (stored.state === "unknown" && repeatable) {
    if (!(await services.idempotency.takeOver(stored))) {
      return runIdempotent(services, request, handle);
    }
    const attempt = { id: stored.attempt, since: stored.startedMillis };
    return runAttempt(services, request, handle, attempt, stored);
  }
  body.ignore();
  if ((await fingerprint(request)) !== stored.fingerprint) {
    if (explicit) throw keyReused();
    return handle();
  }
  if (stored.state === "unknown") {
    if (explicit) throw unknownOutcome();
    return handle();
  }
  if (stored.reply) return replay(stored.reply);
  await awaitFirst(services, request);
  return runIdempotent(services, request, body.whole ? handle : bodyLost);
}

const fingerprint = async ({ body, fingerprint }: IdempotentRequest): Promise<string> =>
  fingerprint(await body.digest);

/** Another request with this key was stored first. */
class KeyTaken extends Error {}

/** `earlier`: the stored request that this attempt continues. */
async function runAttempt(
  services: Dependencies,
  request: IdempotentRequest,
  handle: Handle,
  attempt: Attempt,
  earlier?: StoredRequest,
): Promise<Reply> {
  const { idempotency, log } = services;
  const { id, body, retentionMillis } = request;
  let failed = false;
  let claiming = false;
  let owned = earlier !== undefined;
  const claimed = fingerprint(request).then(async (fingerprint) => {
    if (failed) return;
    claiming = true;
    if (earlier === undefined) {
      owned = await idempotency.begin({ id, fingerprint, attempt: attempt.id }, retentionMillis);
      if (!owned) throw new KeyTaken();
    } else if (fingerprint !== earlier.fingerprint) throw keyReused();
    body.release();
  });
  // Also ends the handler, which waits for the end of the body.
  claimed.catch(() => body.ignore());
  let reply: Reply;
  try {
    if (body.whole) await claimed;
    reply = await handle(attempt);
    // Some handlers do not read the complete body.
    body.ignore();
    await claimed;
  } catch (error) {
    failed = true;
    const cause = claiming
      ? await claimed.then(
          () => error,
          (first: unknown) => first,
        )
      : error;
    if (cause instanceof KeyTaken) {
      return runIdempotent(services, request, body.whole ? handle : bodyLost);
    }
    if (owned) {
      const unknown = earlier !== undefined || ambiguousCodes.has(asJoustError(cause).code);
      await idempotency[unknown ? "markUnknown" : "forget"](attempt, id).catch((err) => {
        log.warn({ err }, "the outcome of an idempotent request could not be stored");
      });
    }
    throw cause;
  }
  await idempotency.complete(attempt, id, storable(reply)).catch((err) => {
    // The request succeeded, and so does its reply. A repetition finds the outcome in the table.
    log.warn({ err }, "the reply to an idempotent request could not be stored");
  });
  return reply;
}

/** After a failure with one of these codes the work may have been done. */
const ambiguousCodes: ReadonlySet<ErrorCode> = new Set([
  ErrorCode.ServiceUnavailable,
  ErrorCode.Internal,
]);

/** Waits until the first request with the key has ended. @throws code 14 if it still runs after the maximum wait */
async function awaitFirst(
  { idempotency }: Dependencies,
  { id, retentionMillis }: IdempotentRequest,
): Promise<void> {
  for (let waited = 0; waited < MAX_WAIT_MILLIS; waited += POLL_MILLIS) {
    const stored = await idempotency.find(id, retentionMillis);
    if (stored?.state !== "running") return;
    await delay(POLL_MILLIS);
  }
  throw new JoustError(
    ErrorCode.ConcurrentModification,
    "the first request with this idempotency key still runs: send this one again later",
  );
}

const storable = (reply: Reply): StoredReply => {
  const { status, headers } = reply as { status?: number; headers?: Record<string, string> };
  const head = { ...(status !== undefined && { status }), ...(headers && { headers }) };
  if (reply.kind === "json") return { ...head, text: JSON.stringify(reply.value) };
  if (reply.kind === "encoded") return { ...head, text: reply.text };
  if (reply.kind === "empty") return head;
  throw new TypeError(`a reply of kind ${reply.kind} cannot be stored`);
};

const replay = ({ text, headers, ...stored }: StoredReply): Reply => {
  const head = { ...stored, headers: { ...headers, [REPLAYED]: "true" } };
  return text === undefined
    ? { kind: "empty", ...head }
    : { kind: "json", value: JSON.parse(text), ...head };
};

/** Replaces the handler once the body of its request is lost. */
const bodyLost: Handle = () => {
  throw new JoustError(
    ErrorCode.ConcurrentModification,
    "the first request with this idempotency key failed while this one waited for its reply: send this one again",
  );
};

const keyReused = (): JoustError =>
  new JoustError(
    ErrorCode.InvalidInput,
    "another request used this idempotency key before (another operation, object, caller or body): use a new key",
    422,
  );

const unknownOutcome = (): JoustError =>
  new JoustError(
    ErrorCode.ConcurrentModification,
    "the server stopped during the first request with this idempotency key, and the outcome is unknown: read the state, and send what is missing with a new key",
  );
