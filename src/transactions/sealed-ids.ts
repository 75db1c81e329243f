import { createHmac, timingSafeEqual } from "node:crypto";
import { timedId, timeOf } from "../catalog/timed-id.js";

/**
 * The most that an id says, bytes: it is a part of URLs and headers, of which uWebSockets.js takes 4 KB in
 * all, and a key in Postgres, which takes 2,704 bytes.
 */
const MAX_TEXT = 1_000;
const MAC_BYTES = 16;
const MAX_LENGTH = Math.ceil(((MAC_BYTES + MAX_TEXT) * 4) / 3);

/** What a sealed id says. */
export interface Sealed {
  readonly properties: Record<string, string>;
  readonly createdMillis: number;
}

/**
 * Ids that say themselves what was done, so that nothing has to be stored: base64url of a MAC and of the
 * JSON text that it vouches for. Everybody can read one; only who has the catalog's key can make one.
 */
export class SealedIds {
  /** Bytes: with a `KeyObject` a MAC takes twice the time. */
  readonly #key: Buffer;

  constructor(key: Buffer) {
    this.#key = key;
  }

  /** A new id at each call; undefined for properties that are too long for one. */
  seal(properties: Readonly<Record<string, string>>): string | undefined {
    const text = Buffer.from(JSON.stringify([timedId(), properties]));
    if (text.length > MAX_TEXT) return undefined;
    return Buffer.concat([this.#mac(text), text]).toString("base64url");
  }

  /** Undefined for an id that was not sealed with this key. */
  open(id: string): Sealed | undefined {
    if (id.length > MAX_LENGTH) return undefined;
    const bytes = Buffer.from(id, "base64url");
    if (bytes.length <= MAC_BYTES) return undefined;
    // Encoding again refuses what a lenient base64 decoder lets through: each record has one id.
    if (bytes.toString("base64url") !== id) return undefined;
    const text = bytes.subarray(MAC_BYTES);
    if (!timingSafeEqual(bytes.subarray(0, MAC_BYTES), this.#mac(text))) return undefined;
    const [made, properties] = JSON.parse(text.toString()) as [string, Record<string, string>];
    return { properties, createdMillis: timeOf(made) };
  }

  #mac(text: Uint8Array): Buffer {
    return createHmac("sha256", this.#key).update(text).digest().subarray(0, MAC_BYTES);
  }
}
