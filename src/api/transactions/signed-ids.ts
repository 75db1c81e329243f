import { native } from "../../engine/native.js";
import { timedId, timeOf } from "../../foundation/timed-id.js";

const { seal: sign, unseal: verify } = native;

/**
 * Maximum size of the text in an id, bytes. An id is part of URLs and headers, which uWebSockets.js limits to 4 KB in
 * total, and a key in Postgres, which limits it to 2,704 bytes.
 */
const MAX_TEXT_BYTES = 1_000;
const MAC_BYTES = 16;
const MAX_LENGTH = Math.ceil(((MAC_BYTES + MAX_TEXT_BYTES) * 4) / 3);

/** The contents of a signed id. */
export interface SignedContents {
  readonly properties: Record<string, string>;
  readonly createdMillis: number;
}

/**
 * Ids that contain their transaction, so the catalog stores no row: base64url of a MAC and the JSON text that it
 * authenticates. Any client can read an id; creating one needs the catalog's key.
 */
export class SignedIds {
  readonly #key: Buffer;

  constructor(key: Buffer) {
    this.#key = key;
  }

  /** A new id; undefined if the properties are too long for an id. */
  sign(properties: Readonly<Record<string, string>>): string | undefined {
    const text = JSON.stringify([timedId(), properties]);
    return Buffer.byteLength(text) > MAX_TEXT_BYTES ? undefined : sign(this.#key, text);
  }

  /** The contents of an id; undefined unless this key signed it. */
  verify(id: string): SignedContents | undefined {
    if (id.length > MAX_LENGTH) return undefined;
    const text = verify(this.#key, id);
    if (text === null) return undefined;
    const [created, properties] = JSON.parse(text) as [string, Record<string, string>];
    return { properties, createdMillis: timeOf(created) };
  }
}
