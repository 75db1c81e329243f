import { randomBytes } from "node:crypto";
import { ErrorCode, JoustError } from "../foundation/errors.js";
import type { CatalogDatabase } from "./database.js";
import { decrypt, encrypt, isEncrypted } from "./encrypted-text.js";
import { available } from "./sql-error.js";

const BYTES = 32;

/**
 * Returns the secret of that name: random bytes that the first server makes and all servers of the catalog share.
 *
 * With keys it is encrypted in the catalog by the first one; a secret that is not yet, or by another key, is encrypted
 * again.
 *
 * @throws code 17 if no key opens it
 */
export async function secret(
  db: CatalogDatabase,
  name: string,
  keys: readonly Uint8Array[] = [],
): Promise<Buffer> {
  const [newest] = keys;
  const stored = (value: string) => (newest === undefined ? value : encrypt(value, name, newest));
  const find = db.read.selectFrom("secrets").select("value").where("name", "=", name);
  let row = await available(find.executeTakeFirst());
  if (!row) {
    const value = stored(randomBytes(BYTES).toString("hex"));
    await db.write((t) =>
      t
        .insertInto("secrets")
        .values({ name, value })
        // Another server may have made it at the same time: the first one counts.
        .onConflict((c) => c.doNothing())
        .execute(),
    );
    row = await available(find.executeTakeFirstOrThrow());
  }
  const { value: found } = row;
  const opened = open(found, name, keys);
  if (newest !== undefined && opened.key !== newest) {
    await db.write((t) =>
      t
        .updateTable("secrets")
        .set({ value: stored(opened.value) })
        .where("name", "=", name)
        // Another server may have done it.
        .where("value", "=", found)
        .execute(),
    );
  }
  return Buffer.from(opened.value, "hex");
}

/** `key`: the key that opened it; undefined for a secret that is not encrypted. */
function open(
  stored: string,
  name: string,
  keys: readonly Uint8Array[],
): { value: string; key?: Uint8Array } {
  if (!isEncrypted(stored)) return { value: stored };
  for (const key of keys) {
    const value = decrypt(stored, name, key);
    if (value !== undefined) return { value, key };
  }
  throw new JoustError(
    ErrorCode.ServiceUnavailable,
    keys.length === 0
      ? "the secrets of the catalog are encrypted: give their key with --catalog-key-file"
      : "no key of --catalog-key-file or --catalog-key opens the secrets of the catalog: add the one that encrypted them as a further line of the file",
  );
}
