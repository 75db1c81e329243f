import { ErrorCode, hasCode, invalidInput, JoustError } from "../foundation/errors.js";
import type { Headers } from "./headers.js";

const HEADER = "x-request-timeout-ms";

/** The longest time of a timer, ms: 24 days. A longer deadline never ends a request. */
const LONGEST_MILLIS = 2 ** 31 - 1;

/** How long the client may still send its body after the deadline, so that it reads the reply, ms. */
export const BODY_GRACE_MILLIS = 2_000;

/** What a request beyond its deadline has changed. */
export type ExpiredWork = "read" | "nothing" | "unknown";

/** The time limit of one request until its reply begins. */
export class RequestDeadline {
  readonly #timer: NodeJS.Timeout;
  readonly #end: number;

  private constructor(
    private readonly limitMs: number,
    private readonly source: string,
    started: number,
    expire: () => void,
  ) {
    this.#end = started + limitMs;
    this.#timer = setTimeout(expire, Math.max(0, this.#end - performance.now()));
    this.#timer.unref();
  }

  /**
   * The smaller one of the server's limit (ms, 0: none) and the client's; undefined without both.
   *
   * @throws code 13 for an invalid header
   */
  static start(
    headers: Pick<Headers, "get" | "has">,
    serverMs: number,
    started: number,
    expire: () => void,
  ): RequestDeadline | undefined {
    const clientMs = headers.has(HEADER) ? parse(headers.get(HEADER)) : Number.POSITIVE_INFINITY;
    const ofServer = serverMs > 0 && serverMs <= clientMs;
    const limit = ofServer ? serverMs : clientMs;
    if (limit > LONGEST_MILLIS) return undefined;
    const source = ofServer ? "--request-timeout" : HEADER;
    return new RequestDeadline(limit, source, started, expire);
  }

  /** At least 1. */
  get leftMs(): number {
    return Math.max(1, Math.ceil(this.#end - performance.now()));
  }

  clear(): void {
    clearTimeout(this.#timer);
  }

  /** The error of work that the engine ended at the deadline, before the timer of this thread ran. */
  endedBy(error: unknown, work: ExpiredWork): JoustError | undefined {
    if (performance.now() < this.#end || !hasCode(error, ErrorCode.ServiceUnavailable)) return;
    // An error of `exceeded` says already what the work has changed.
    return (error as JoustError).status === 504 ? undefined : this.exceeded(work);
  }

  /** 504 with what to do. No code of the specification is for time limits: 17 means that a request may be repeated. */
  exceeded(work: ExpiredWork): JoustError {
    const limit = `the request took longer than ${this.limitMs} ms, the limit that \`${this.source}\` sets`;
    return new JoustError(ErrorCode.ServiceUnavailable, `${limit}${advice[work]}`, 504);
  }
}

const advice: Readonly<Record<ExpiredWork, string>> = {
  read: ": ask for less, or allow more time",
  nothing: ": it changed nothing; allow more time",
  unknown:
    ": it still runs and may take effect, so its outcome is unknown; read the state before you send it again, or repeat it with the same `Idempotency-Key` if it had one",
};

/**
 * Checks before the first change that a request lasts: after a 504 for a read, or without a client, nothing changes.
 *
 * @throws code 17
 */
export function checkLasts({ cancelled }: { readonly cancelled: boolean }): void {
  if (!cancelled) return;
  throw new JoustError(ErrorCode.ServiceUnavailable, "the request has ended: it changed nothing");
}

function parse(text: string): number {
  const millis = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (millis > 0) return millis;
  throw invalidInput(
    `\`${HEADER}\` must be an integer number of milliseconds of at least 1, such as 30000, not ${JSON.stringify(text.slice(0, 80))}`,
  );
}
