import { timingSafeEqual } from "node:crypto";
import type { KeyRecord, KeyStore } from "../catalog/keys.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import { hashKey, looksLikeKey } from "./key.js";
import type { Role } from "./roles.js";

/** Who sends a request. */
export interface Identity {
  /** Tells callers apart. */
  readonly id: string;
  /** The key's name. */
  readonly name: string;
  readonly role: Role;
}

/** Tells who presents a key ("" for none); undefined when nobody known does. */
export interface Authenticator {
  identify(key: string): Identity | undefined | Promise<Identity | undefined>;
}

/** Keys whose hash is remembered. */
const MAX_CACHED_HASHES = 1_000;

/** Knows the keys of the store, and one from outside that is not stored and is an admin's. */
export class KeyAuthenticator implements Authenticator {
  readonly #outside: Buffer | undefined;
  /** Of keys that were valid: making it takes longer than all else that is done to tell who asks. */
  readonly #hashes = new Map<string, Buffer>();

  constructor(
    private readonly keys: Pick<KeyStore, "findByHash" | "findByHashSync">,
    outsideKey?: string,
  ) {
    this.#outside = outsideKey === undefined ? undefined : hashKey(outsideKey);
  }

  identify(key: string): Identity | undefined | Promise<Identity | undefined> {
    if (key === "") return undefined;
    const hash = this.#hashes.get(key) ?? hashKey(key);
    if (this.#outside && timingSafeEqual(hash, this.#outside)) {
      return this.#valid(key, hash, configuredIdentity);
    }
    if (!looksLikeKey(key)) return undefined;
    const record = this.keys.findByHashSync(hash);
    if (record === undefined) {
      return this.keys.findByHash(hash).then((found) => verifiedRecord(hash, found));
    }
    return this.#valid(key, hash, verifiedRecord(hash, record));
  }

  /** Remembers the hash of a key that somebody has; whether the key still holds is asked each time. */
  #valid(key: string, hash: Buffer, identity: Identity | undefined): Identity | undefined {
    if (identity && !this.#hashes.has(key) && this.#hashes.size < MAX_CACHED_HASHES) {
      this.#hashes.set(key, hash);
    }
    return identity;
  }
}

const configuredIdentity: Identity = { id: "--api-key", name: "--api-key", role: "admin" };

/** The store looks up by index, which may tell by its timing how much of a hash is right; this does not. */
const verifiedRecord = (
  hash: Buffer,
  record: KeyRecord | null | undefined,
): Identity | undefined => (record && timingSafeEqual(hash, record.hash) ? record : undefined);

/** `--auth none`: whoever connects may do everything. */
export const allowAll: Authenticator = {
  identify: () => ({ id: "anyone", name: "anyone", role: "admin" }),
};

/** @throws JoustError (code 16) for a caller whom nobody knows. */
export function requireIdentity(identity: Identity | undefined): Identity {
  if (identity) return identity;
  throw unauthenticated();
}

/** The only failure that unauthenticated callers get to see. */
export const unauthenticated = (): JoustError =>
  new JoustError(
    ErrorCode.Unauthenticated,
    "no valid API key came with the request: send `Authorization: Bearer KEY` or `x-api-key: KEY`",
  );
