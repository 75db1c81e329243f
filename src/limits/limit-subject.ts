import { LimitExceeded, type LimitScope, retryAfter } from "./limit-exceeded.js";
import { isUser, type LimitedCaller, type Limits } from "./limit-rules.js";
import type { LimitSlot } from "./limit-slots.js";
import { chargeTokens, takeTokens, waitForToken } from "./token-bucket.js";

/** How long a client waits before it sends a query again that met too many others, seconds. */
const QUERY_RETRY_SECONDS = 1;

/** One caller or one namespace with its limits and their state. All methods throw `LimitExceeded`. */
export class LimitSubject {
  constructor(
    readonly scope: Exclude<LimitScope, "unauthenticated">,
    /** Unique among the subjects of the scope: the id of a caller, the encoded path of a namespace. */
    readonly name: string,
    /** For messages. */
    readonly label: string,
    readonly limits: Limits,
    private readonly slot: LimitSlot,
  ) {}

  takeRequest(now: bigint): void {
    const { requests } = this.limits;
    if (!requests) return;
    const wait = takeTokens(this.slot.requests, requests, 1, now);
    if (wait === 0n) return;
    const most = `${requests.perSecond} requests per second (burst ${requests.burst})`;
    throw this.exceeded("requests_per_second", `${this.label} exceeds ${most}`, retryAfter(wait));
  }

  /** Counts a request that is not refused: the next ones wait until the bucket has tokens again. */
  chargeRequest(now: bigint): void {
    const { requests } = this.limits;
    if (requests) chargeTokens(this.slot.requests, requests, 1, now);
  }

  /** Returns whether `endQuery` has to follow. */
  beginQuery(): boolean {
    const { concurrentQueries } = this.limits;
    if (concurrentQueries === undefined) return false;
    if (this.slot.beginQuery(concurrentQueries)) return true;
    const running = `${this.label} already runs ${concurrentQueries} queries, its most at a time`;
    throw this.exceeded("concurrent_queries", running, QUERY_RETRY_SECONDS);
  }

  endQuery(): void {
    this.slot.endQuery();
  }

  /** Refuses an upload while earlier ones have used more than the bucket held. */
  checkUpload(now: bigint): void {
    const { uploadBytes } = this.limits;
    if (!uploadBytes) return;
    const wait = waitForToken(this.slot.upload, uploadBytes, now);
    if (wait === 0n) return;
    const { perSecond, burst } = uploadBytes;
    const most = `${perSecond} upload bytes per second (burst ${burst} bytes)`;
    throw this.exceeded(
      "upload_bytes_per_second",
      `${this.label} exceeds ${most}`,
      retryAfter(wait),
    );
  }

  chargeUpload(bytes: number, now: bigint): void {
    const { uploadBytes } = this.limits;
    if (uploadBytes) chargeTokens(this.slot.upload, uploadBytes, bytes, now);
  }

  exceeded(limit: string, message: string, seconds: number): LimitExceeded {
    return new LimitExceeded(limit, this.scope, message, seconds);
  }
}

/** `the key "dashboard"` */
export const callerLabel = (caller: LimitedCaller): string =>
  `the ${isUser(caller) ? "user" : "key"} "${caller.name}"`;

/** `the namespace "team$search"` */
export const namespaceLabel = (path: readonly string[]): string =>
  path.length === 0 ? "the root namespace" : `the namespace "${path.join("$")}"`;
