import { timingSafeEqual } from "node:crypto";
import type { KeyRecord } from "../catalog/key-records.js";
import type { KeyStore } from "../catalog/keys.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import { hashKey, looksLikeKey } from "./key.js";
import type { KeyUses } from "./key-uses.js";
import type { CallerRole } from "./roles.js";

/** The authenticated caller of a request. */
export interface Identity {
  /** Unique for each caller: the id of a key, or `user:ISSUER#SUBJECT`. */
  readonly id: string;
  /** For people: the name of the key, or the e-mail address or the subject of the user. */
  readonly name: string;
  /** The bundle of privileges on the whole server. "none": only what grants give. */
  readonly role: CallerRole;
  /** The groups that the token of a user names. Keys are in no group. */
  readonly groups: readonly string[];
}

/** Identifies a caller by its credential: an API key or a token. */
export interface Authenticator {
  /**
   * Undefined for "" and for an unknown key.
   * @throws JoustError code 16 with the reason for another invalid credential; code 17 if it cannot be verified now
   */
  identify(credential: string): Identity | undefined | Promise<Identity | undefined>;
}

/** The most keys whose hashes are cached. */
const MAX_CACHED_HASHES = 1_000;

/** Accepts the keys of the catalog, and the admin key of `--api-key`, which is not in the catalog. */
export class KeyAuthenticator implements Authenticator {
  readonly #configuredKeyHash: Buffer | undefined;
  /** Hashes of valid keys: the hash takes most of the time of an authentication. */
  readonly #hashes = new Map<string, Buffer>();

  constructor(
    private readonly keys: Pick<KeyStore, "findByHash" | "findByHashSync">,
    configuredKey?: string,
    private readonly uses?: KeyUses,
  ) {
    this.#configuredKeyHash = configuredKey === undefined ? undefined : hashKey(configuredKey);
  }

  identify(key: string): Identity | undefined | Promise<Identity | undefined> {
    if (key === "") return undefined;
    const hash = this.#hashes.get(key) ?? hashKey(key);
    if (this.#configuredKeyHash && timingSafeEqual(hash, this.#configuredKeyHash)) {
      return this.#cacheHash(key, hash, configuredIdentity);
    }
    if (!looksLikeKey(key)) return undefined;
    const record = this.keys.findByHashSync(hash);
    if (record === undefined) {
      return this.keys.findByHash(hash).then((stored) => this.#verified(hash, stored));
    }
    return this.#cacheHash(key, hash, this.#verified(hash, record));
  }

  /**
   * The caller of a record. Compares in constant time: the timing of the index lookup may reveal a prefix of the hash.
   * @throws code 16 if the key has expired
   */
  #verified(hash: Buffer, record: KeyRecord | null | undefined): Identity | undefined {
    if (!record || !timingSafeEqual(hash, record.hash)) return undefined;
    if (record.expiresMillis !== undefined && record.expiresMillis <= Date.now()) {
      throw expiredKey(record.expiresMillis);
    }
    this.uses?.add(record.id);
    return record;
  }

  /** Caches the hash of a valid key. The catalog still checks the key for each request. */
  #cacheHash(key: string, hash: Buffer, identity: Identity | undefined): Identity | undefined {
    if (identity && !this.#hashes.has(key)) {
      // Rotated keys must not fill the cache.
      if (this.#hashes.size >= MAX_CACHED_HASHES) this.#hashes.clear();
      this.#hashes.set(key, hash);
    }
    return identity;
  }
}

const configuredIdentity: Identity = {
  id: "--api-key",
  name: "--api-key",
  role: "admin",
  groups: [],
};

const expiredKey = (millis: number): JoustError =>
  new JoustError(
    ErrorCode.Unauthenticated,
    `the API key expired at ${new Date(millis).toISOString()}: ask the administrator of this server for a new one`,
  );

/** `--auth none`: every client is an admin. */
export const allowAll: Authenticator = {
  identify: () => anyone,
};

const anyone: Identity = { id: "anyone", name: "anyone", role: "admin", groups: [] };

/** @throws JoustError code 16 without an identity */
export function requireIdentity(identity: Identity | undefined): Identity {
  if (identity) return identity;
  throw unauthenticated();
}

/** The error for a caller without a known credential. */
export const unauthenticated = (): JoustError =>
  new JoustError(
    ErrorCode.Unauthenticated,
    "the request has no valid API key: send `Authorization: Bearer KEY` or `x-api-key: KEY`",
  );
