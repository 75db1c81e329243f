import type { Identity } from "../authenticator.js";

/** The most tokens in the cache. A token takes one or two KiB. */
const MAX_TOKENS = 5_000;

/** The callers of verified tokens, so that a token is verified once. */
export class TokenCache {
  readonly #entries = new Map<string, { readonly identity: Identity; readonly until: number }>();
  #generation = 0;

  constructor(private readonly maxTokens = MAX_TOKENS) {}

  /** The caller of a token; undefined if the token is unknown or has expired. */
  get(token: string): Identity | undefined {
    const entry = this.#entries.get(token);
    if (entry === undefined) return undefined;
    if (entry.until > Date.now()) return entry.identity;
    this.#entries.delete(token);
    return undefined;
  }

  /** Changes when the cache is cleared. */
  get generation(): number {
    return this.#generation;
  }

  /** `generation`: that of the time before the verification. A token that was verified with former keys is not cached. */
  set(token: string, identity: Identity, until: number, generation: number): void {
    if (generation !== this.#generation) return;
    if (this.#entries.size >= this.maxTokens) {
      const [oldest] = this.#entries.keys();
      if (oldest !== undefined) this.#entries.delete(oldest);
    }
    this.#entries.set(token, { identity, until });
  }

  clear(): void {
    this.#entries.clear();
    this.#generation++;
  }
}
