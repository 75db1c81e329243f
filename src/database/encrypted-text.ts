/** Encryption of a text in the catalog: AES-256-GCM, with a random nonce for each text. */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

const PREFIX = "aes256gcm:";
const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export const isEncrypted = (stored: string): boolean => stored.startsWith(PREFIX);

/** `name` is authenticated with the text: it opens under this name only. */
export function encrypt(text: string, name: string, key: Uint8Array): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(name));
  const parts = [nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()];
  return PREFIX + Buffer.concat(parts).toString("base64");
}

/** Undefined if the key or the name is another one, or the text was changed. */
export function decrypt(encrypted: string, name: string, key: Uint8Array): string | undefined {
  const bytes = Buffer.from(encrypted.slice(PREFIX.length), "base64");
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES))
    .setAAD(Buffer.from(name))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString();
  } catch {
    return undefined;
  }
}
