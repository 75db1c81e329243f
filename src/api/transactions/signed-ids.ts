import { native } from "../../engine/native.js";
import { timedId, timeOf } from "../../foundation/timed-id.js";

const { seal, unseal } = native;

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
export class SignedIds {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    this.#key = key;
  }

  /** A new id at each call; undefined for properties that are too long for one. */
  seal(properties: Readonly<Record<string, string>>): string | undefined {
    const text = JSON.stringify([timedId(), properties]);
    return Buffer.byteLength(text) > MAX_TEXT ? undefined : seal(this.#key, text);
  }

  /** Undefined for an id that was not sealed with this key. */
  open(id: string): Sealed | undefined {
    if (id.length > MAX_LENGTH) return undefined;
    const text = unseal(this.#key, id);
    if (text === null) return undefined;
    const [made, properties] = JSON.parse(text) as [string, Record<string, string>];
    return { properties, createdMillis: timeOf(made) };
  }
}
