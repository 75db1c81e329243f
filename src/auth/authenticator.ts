import { timingSafeEqual } from "node:crypto";
import type { KeyRecord } from "../catalog/key-records.js";
import type { KeyStore } from "../catalog/keys.js";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import { countLookup } from "../telemetry/auth-counts.js";
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

/** The most keys that are remembered. */
const MAX_REMEMBERED = 1_000;

/** A key that was valid, so that its next request needs no hash and no comparison. */
interface RememberedKey {
  /** Hex text. */
  readonly hash: string;
  /** Undefined: the key of `--api-key`. */
  readonly record: KeyRecord | undefined;
}

/** Accepts the keys of the catalog, and the admin key of `--api-key`, which is not in the catalog. */
export class KeyAuthenticator implements Authenticator {
  readonly #configuredKeyHash: Buffer | undefined;
  readonly #remembered = new Map<string, RememberedKey>();

  constructor(
    private readonly keys: Pick<KeyStore, "findByHash" | "findByHashSync">,
    configuredKey?: string,
    private readonly uses?: KeyUses,
  ) {
    this.#configuredKeyHash = configuredKey === undefined ? undefined : hashKey(configuredKey);
  }

  identify(key: string): Identity | undefined | Promise<Identity | undefined> {
    if (key === "") return undefined;
    const remembered = this.#remembered.get(key);
    if (remembered && !remembered.record) {
      countLookup("keys", true);
      return configuredIdentity;
    }
    if (remembered) {
      // The catalog makes another record of a key after each commit.
      const record = this.keys.findByHashSync(remembered.hash);
      if (record && record === remembered.record) {
        countLookup("keys", true);
        return this.#unexpired(record);
      }
    }
    countLookup("keys", false);
    return this.#verify(key, hashKey(key));
  }

  #verify(key: string, bytes: Buffer): Identity | undefined | Promise<Identity | undefined> {
    const hash = bytes.toString("hex");
    if (this.#configuredKeyHash && timingSafeEqual(bytes, this.#configuredKeyHash)) {
      this.#remember(key, { hash, record: undefined });
      return configuredIdentity;
    }
    if (!looksLikeKey(key)) return undefined;
    const accept = (record: KeyRecord | null | undefined): Identity | undefined => {
      // In constant time: how long the look-up in an index takes may reveal a prefix of the hash.
      if (!record || !timingSafeEqual(bytes, record.hash)) return undefined;
      this.#remember(key, { hash, record });
      return this.#unexpired(record);
    };
    const record = this.keys.findByHashSync(hash);
    return record === undefined ? this.keys.findByHash(hash).then(accept) : accept(record);
  }

  /** @throws code 16 if the key has expired */
  #unexpired(record: KeyRecord): Identity {
    if (record.expiresMillis !== undefined && record.expiresMillis <= Date.now()) {
      throw expiredKey(record.expiresMillis);
    }
    this.uses?.add(record.id);
    return record;
  }

  #remember(key: string, remembered: RememberedKey): void {
    // Rotated keys must not fill the memory.
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear();
    this.#remembered.set(key, remembered);
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
