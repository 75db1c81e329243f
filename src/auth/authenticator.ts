import { timingSafeEqual } from "node:crypto";
import type { KeyRecord, KeyStore } from "../catalog/keys.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import { hashKey, looksLikeKey } from "./key.js";
import type { CallerRole } from "./roles.js";

/** The authenticated caller of a request. */
export interface Identity {
  /** Unique for each caller: the id of a key, or `user:ISSUER#SUBJECT`. */
  readonly id: string;
  /** For people: the name of the key, or the e-mail address or subject of the user. */
  readonly name: string;
  /** The bundle of privileges on the whole server. `none`: only grants give privileges. */
  readonly role: CallerRole;
  /** The groups of a user; none for keys. */
  readonly groups: readonly string[];
}

/** Identifies a caller by its API key. `identify("")` and an unknown key yield undefined. */
export interface Authenticator {
  identify(key: string): Identity | undefined | Promise<Identity | undefined>;
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
  ) {
    this.#configuredKeyHash = configuredKey === undefined ? undefined : hashKey(configuredKey);
  }

  identify(key: string): Identity | undefined | Promise<Identity | undefined> {
    if (key === "") return undefined;
    const hash = this.#hashes.get(key) ?? hashKey(key);
    if (this.#configuredKeyHash && timingSafeEqual(hash, this.#configuredKeyHash)) {
      return this.#valid(key, hash, configuredIdentity);
    }
    if (!looksLikeKey(key)) return undefined;
    const record = this.keys.findByHashSync(hash);
    if (record === undefined) {
      return this.keys.findByHash(hash).then((stored) => verifiedRecord(hash, stored));
    }
    return this.#valid(key, hash, verifiedRecord(hash, record));
  }

  /** Caches the hash of a valid key. The catalog still checks the key for each request. */
  #valid(key: string, hash: Buffer, identity: Identity | undefined): Identity | undefined {
    if (identity && !this.#hashes.has(key) && this.#hashes.size < MAX_CACHED_HASHES) {
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

/** Compares in constant time: the timing of the index lookup may reveal a prefix of the hash. */
const verifiedRecord = (
  hash: Buffer,
  record: KeyRecord | null | undefined,
): Identity | undefined => (record && timingSafeEqual(hash, record.hash) ? record : undefined);

/** `--auth none`: every client is an admin. */
export const allowAll: Authenticator = {
  identify: () => ({ id: "anyone", name: "anyone", role: "admin", groups: [] }),
};

/** @throws JoustError code 16 without an identity */
export function requireIdentity(identity: Identity | undefined): Identity {
  if (identity) return identity;
  throw unauthenticated();
}

/** The only error that an unauthenticated caller receives. */
export const unauthenticated = (): JoustError =>
  new JoustError(
    ErrorCode.Unauthenticated,
    "the request has no valid API key: send `Authorization: Bearer KEY` or `x-api-key: KEY`",
  );
