import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { asJoustError, ErrorCode, JoustError } from "../../foundation/errors.js";
import type { Reply } from "../operation.js";
import type { Services } from "../services.js";
import type { Attempt, StoredReply, StoredRequest } from "./idempotency.js";

/** Tells an answer that was given before. */
const REPLAYED = "idempotent-replayed";
/** How long a repetition waits for the first request's answer, ms, and how often it looks. */
const PATIENCE = 10_000;
const LOOK_EVERY = 50;

/** A request's body, as far as this needs it. */
export interface IdempotentBody {
  /** SHA-256 of all of it, once it is here. */
  readonly digest: Promise<Buffer>;
  /** All of it is here before the handler starts. */
  readonly whole: boolean;
  /** Lets the handler see the end of it: nothing is committed before. */
  release(): void;
  /** Nobody will read it. */
  ignore(): void;
}

/** A request that is to take effect once. */
export interface IdempotentRequest {
  /** What its repetitions have in common: made of its key. */
  readonly id: string;
  /** The client asked for it; else it is a guess from how the client sends again. */
  readonly asked: boolean;
  /** For how long its answer counts, ms. */
  readonly keptMillis: number;
  /** Whether the handler finds out by itself what an earlier attempt did. */
  readonly repeatable: boolean;
  readonly body: IdempotentBody;
  /** Of all that makes it this request and no other one, given its body's digest. */
  fingerprint(digest: Buffer): string;
}

type Handle = (attempt?: Attempt) => Promise<Reply> | Reply;

/**
 * Handles a request, or answers as the first one of its key was answered.
 *
 * Only success is kept: a request that failed changed nothing and may be sent again. After a failure
 * that leaves that open, the next attempt looks at what the table holds.
 *
 * @throws JoustError code 13 (status 422) when the key was another request's, code 14 when the first
 * request is still at work or when nobody can tell what it did
 */
export async function runIdempotent(
  services: Pick<Services, "idempotency" | "log">,
  request: IdempotentRequest,
  handle: Handle,
): Promise<Reply> {
  const { id, keptMillis, repeatable, asked, body } = request;
  const known = await services.idempotency.find(id, keptMillis);
  if (known === undefined) return attempt(services, request, handle, { id: randomUUID() });
  if (known.state === "doubtful" && repeatable) {
    if (!(await services.idempotency.takeOver(known)))
      return runIdempotent(services, request, handle);
    const again = { id: known.attempt, since: known.beganMillis };
    return attempt(services, request, handle, again, known);
  }
  body.ignore();
  if ((await fingerprint(request)) !== known.fingerprint) {
    if (asked) throw otherRequest();
    return handle();
  }
  if (known.state === "doubtful") {
    if (asked) throw unknownOutcome();
    return handle();
  }
  if (known.reply) return replayed(known.reply);
  await firstToEnd(services, request);
  return runIdempotent(services, request, body.whole ? handle : gone);
}

const fingerprint = async ({ body, fingerprint }: IdempotentRequest): Promise<string> =>
  fingerprint(await body.digest);

/** Another request of this key was here first. */
class Taken extends Error {}

/** `known`: what is known of the attempt that this one goes on with. */
async function attempt(
  services: Pick<Services, "idempotency" | "log">,
  request: IdempotentRequest,
  handle: Handle,
  attempt: Attempt,
  known?: StoredRequest,
): Promise<Reply> {
  const { idempotency, log } = services;
  const { id, body, keptMillis } = request;
  let failed = false;
  let claiming = false;
  let mine = known !== undefined;
  const claimed = fingerprint(request).then(async (fingerprint) => {
    if (failed) return;
    claiming = true;
    if (known === undefined) {
      mine = await idempotency.begin({ id, fingerprint, attempt: attempt.id }, keptMillis);
      if (!mine) throw new Taken();
    } else if (fingerprint !== known.fingerprint) throw otherRequest();
    body.release();
  });
  // Ends the handler too, which waits for the end of the body.
  claimed.catch(() => body.ignore());
  let reply: Reply;
  try {
    if (body.whole) await claimed;
    reply = await handle(attempt);
    // There are handlers that do not read all of it.
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
    if (cause instanceof Taken) return runIdempotent(services, request, body.whole ? handle : gone);
    if (mine) {
      const open = known !== undefined || inDoubt.has(asJoustError(cause).code);
      await idempotency[open ? "doubt" : "forget"](attempt, id).catch((err) => {
        log.warn({ err }, "how a request with a key ended could not be kept");
      });
    }
    throw cause;
  }
  await idempotency.done(attempt, id, kept(reply)).catch((err) => {
    // The work is done and the client is told so; who asks again finds it in the table.
    log.warn({ err }, "the answer to a request with a key could not be kept");
  });
  return reply;
}

/** Failures that the work may have been done before. */
const inDoubt: ReadonlySet<ErrorCode> = new Set([ErrorCode.ServiceUnavailable, ErrorCode.Internal]);

/** Waits until the first request of the key is not at work any more. @throws code 14 when it still is */
async function firstToEnd(
  { idempotency }: Pick<Services, "idempotency">,
  request: IdempotentRequest,
): Promise<void> {
  for (let waited = 0; waited < PATIENCE; waited += LOOK_EVERY) {
    const known = await idempotency.find(request.id, request.keptMillis);
    if (known?.state !== "running") return;
    await delay(LOOK_EVERY);
  }
  throw new JoustError(
    ErrorCode.ConcurrentModification,
    "the first request of this key is still at work: ask again later",
  );
}

const kept = (reply: Reply): StoredReply => {
  const { status, headers } = reply as { status?: number; headers?: Record<string, string> };
  const head = { ...(status !== undefined && { status }), ...(headers && { headers }) };
  if (reply.kind === "json") return { ...head, text: JSON.stringify(reply.value) };
  if (reply.kind === "encoded") return { ...head, text: reply.text };
  if (reply.kind === "empty") return head;
  throw new TypeError(`an answer of kind ${reply.kind} can't be kept`);
};

const replayed = ({ text, headers, ...head }: StoredReply): Reply => {
  const told = { ...head, headers: { ...headers, [REPLAYED]: "true" } };
  return text === undefined
    ? { kind: "empty", ...told }
    : { kind: "json", value: JSON.parse(text), ...told };
};

/** In place of a handler whose request's body is gone. */
const gone: Handle = () => {
  throw new JoustError(
    ErrorCode.ConcurrentModification,
    "the first request of this key failed while this one waited for its answer: send it again",
  );
};

const otherRequest = (): JoustError =>
  new JoustError(
    ErrorCode.InvalidInput,
    "this idempotency key came with another request before (another operation, object, sender or body): use a new key",
    422,
  );

const unknownOutcome = (): JoustError =>
  new JoustError(
    ErrorCode.ConcurrentModification,
    "the server stopped while the first request of this key was at work, and whether it took effect is not known: look, and send what is missing under another key",
  );
