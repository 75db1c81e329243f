import { hash, randomBytes } from "node:crypto";

const prefix = "joust_";

/** A new API key: `joust_` and 32 random bytes in base64url. */
export const newKey = (): string => prefix + randomBytes(32).toString("base64url");

/** What is stored of a key: its SHA-256. The key is random, so no salt or slow hash is called for. */
export const hashKey = (key: string): Buffer => hash("sha256", key, "buffer");

/** Whether a text can be a stored key at all. */
export const looksLikeKey = (text: string): boolean =>
  text.length === prefix.length + 43 && text.startsWith(prefix);
