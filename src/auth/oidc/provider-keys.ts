import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import type { OidcSettings } from "../../config/config.js";
import { providerUrl } from "../../config/oidc.js";
import { ErrorCode, JoustError, operatorMessage } from "../../foundation/errors.js";
import { startPolling } from "../../foundation/poll-loop.js";
import { countFetch } from "../../telemetry/auth-counts.js";
import type { Logger } from "../../telemetry/logger.js";

export interface ProviderKeysOptions {
  readonly log: Logger;
  /** Called when the provider publishes other keys than before. */
  onChange(): void;
  /** How often the keys are fetched, ms. */
  readonly refreshMs?: number;
  /** The least time between two fetches that requests cause, ms: tokens with invented keys cause no more. */
  readonly leastIntervalMs?: number;
}

/** How long the provider may take for one reply, ms. */
const TIMEOUT = 5_000;

/**
 * The public keys of an identity provider. They are fetched at the start, every ten minutes, and when a token names an
 * unknown key. If a fetch fails, the keys of the last one stay in use.
 */
export class ProviderKeys {
  #find: ReturnType<typeof createLocalJWKSet> | undefined;
  #published = "";
  #fetching: Promise<void> | undefined;
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #failed = false;
  /** When the keys in use were fetched, ms since the epoch. */
  #loadedAt: number | undefined;
  readonly #leastInterval: number;
  readonly #stop: () => Promise<void>;

  constructor(
    private readonly settings: Pick<OidcSettings, "issuer" | "jwksUrl">,
    private readonly options: ProviderKeysOptions,
  ) {
    const { refreshMs = 600_000, leastIntervalMs = 5_000 } = options;
    this.#leastInterval = leastIntervalMs;
    const refresh = () => this.#fetch();
    // A failure is in the log.
    this.#stop = startPolling(refreshMs, refresh, () => {}, { immediate: true });
  }

  /**
   * The key that has signed a token.
   * @throws JoustError code 17 if the provider cannot be asked for it; an error of jose if there is no such key
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    if (!this.#find) await this.#fetchAgain();
    try {
      return await this.#keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await this.#fetchAgain();
      return this.#keys(header, token);
    }
  };

  stop(): Promise<void> {
    return this.#stop();
  }

  get #keys(): ReturnType<typeof createLocalJWKSet> {
    if (this.#find) return this.#find;
    throw unavailable();
  }

  /** Fetches the keys unless that happened just now. @throws code 17 if the last fetch has failed */
  async #fetchAgain(): Promise<void> {
    const isRecent = performance.now() - this.#fetchedAt < this.#leastInterval;
    if (this.#fetching || !isRecent) await this.#fetch();
    else if (this.#failed) throw unavailable();
  }

  #fetch(): Promise<void> {
    this.#fetching ??= this.#load().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #load(): Promise<void> {
    const { issuer } = this.settings;
    try {
      const keySet = await fetchJson(this.settings.jwksUrl ?? (await discover(issuer)));
      const find = createLocalJWKSet(keySet as JSONWebKeySet);
      if (find.jwks().keys.length === 0) throw new Error("the key set has no key");
      const published = JSON.stringify(keySet);
      if (this.#find && published !== this.#published) this.options.onChange();
      this.#find = find;
      this.#published = published;
      if (this.#failed) {
        this.options.log.info({ issuer }, "the identity provider publishes its keys again");
      }
      this.#failed = false;
      this.#loadedAt = Date.now();
      countFetch(false);
    } catch (error) {
      this.#failed = true;
      countFetch(true);
      const age = this.#loadedAt && { keys_age_seconds: secondsSince(this.#loadedAt) };
      this.options.log.warn(
        { issuer, reason: reasonOf(error), ...age },
        this.#find
          ? "the keys of the identity provider could not be fetched: the former ones stay in use"
          : "the keys of the identity provider could not be fetched: its tokens get 503",
      );
      throw unavailable();
    } finally {
      // After a fetch that took long, too, tokens of anyone cause no other one at once.
      this.#fetchedAt = performance.now();
    }
  }
}

/** The address of the key set (OpenID Connect Discovery 1.0, 4). */
async function discover(issuer: string): Promise<string> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const document = (await fetchJson(url)) as { issuer?: unknown; jwks_uri?: unknown } | null;
  if (document?.issuer !== issuer) {
    throw new Error(
      `the discovery document is of the issuer ${JSON.stringify(document?.issuer)}: give exactly that one as --oidc-issuer`,
    );
  }
  if (typeof document.jwks_uri !== "string") {
    throw new Error("the discovery document has no jwks_uri: set --oidc-jwks");
  }
  try {
    return providerUrl.parse(document.jwks_uri);
  } catch (error) {
    throw new Error(`the jwks_uri of the discovery document ${operatorMessage(error)}`);
  }
}

/** Follows no redirect: it may lead to an address without TLS. */
async function fetchJson(url: string): Promise<unknown> {
  const reply = await fetch(url, {
    redirect: "error",
    signal: AbortSignal.timeout(TIMEOUT),
    headers: { accept: "application/json" },
  });
  if (!reply.ok) throw new Error(`${url} answered ${reply.status}`);
  return reply.json();
}

const secondsSince = (millis: number): number => Math.round((Date.now() - millis) / 1_000);

/** `fetch` reports the failure of a connection in the cause. */
const reasonOf = (error: unknown): string =>
  error instanceof Error && error.cause instanceof Error
    ? `${error.message}: ${error.cause.message}`
    : operatorMessage(error);

const unavailable = (): JoustError =>
  new JoustError(
    ErrorCode.ServiceUnavailable,
    "the token cannot be verified now, because the identity provider does not answer: try again",
  );
