import { hash, randomBytes } from "node:crypto";

const prefix = "joust_";

/** A new API key: `joust_` and 32 random bytes in base64url. */
export const newKey = (): string => prefix + randomBytes(32).toString("base64url");

/** The SHA-256 of a key, which the catalog stores. The key is random, so it needs no salt and no slow hash. */
export const hashKey = (key: string): Buffer => hash("sha256", key, "buffer");

/** Whether a text has the format of a key. */
export const looksLikeKey = (text: string): boolean =>
  text.length === prefix.length + 43 && text.startsWith(prefix);
