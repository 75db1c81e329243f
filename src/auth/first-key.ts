import type { KeyStore } from "../catalog/keys.js";
import { hashKey, newKey } from "./key.js";

/** Makes an admin key where there is no key yet, so that a new server can be used; undefined when there is one. */
export async function makeFirstKey(keys: KeyStore): Promise<string | undefined> {
  if ((await keys.count()) > 0) return undefined;
  const key = newKey();
  await keys.create({ name: "admin", role: "admin", hash: hashKey(key) });
  return key;
}
