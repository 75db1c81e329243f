import type { CatalogReads } from "../database/database.js";
import type { ApiKeysRow } from "../database/schema.js";
import { CurrentCache } from "../database/sqlite/reader.js";

/** The stored form of an API key: its hash, never the key. */
export interface KeyRecord {
  /** Identifies the caller. A rotation changes the key and not the id, so that grants to the id stay valid. */
  readonly id: string;
  readonly name: string;
  readonly role: ApiKeysRow["role"];
  /** Always empty: only the tokens of an identity provider name groups. */
  readonly groups: readonly string[];
  /** SHA-256 of the key. */
  readonly hash: Buffer;
  /** When the id was created. */
  readonly createdMillis: number;
  /** When the current key of the id was made. */
  readonly issuedMillis: number;
  /** The key is invalid from this time on. Undefined: it does not expire. */
  readonly expiresMillis?: number;
  /** The last use of any key of the id, to about a minute. Undefined: never. */
  readonly lastUsedMillis?: number;
}

const noGroups: readonly string[] = Object.freeze([]);

export const keyRecord = (row: ApiKeysRow): KeyRecord => ({
  id: row.id,
  name: row.name,
  role: row.role,
  groups: noGroups,
  hash: Buffer.from(row.hash, "hex"),
  createdMillis: row.created_at,
  issuedMillis: row.issued_at ?? row.created_at,
  ...(row.expires_at !== null && { expiresMillis: row.expires_at }),
  ...(row.last_used_at !== null && { lastUsedMillis: row.last_used_at }),
});

/**
 * Selects keys by their hashes, among them the former keys that a rotation replaced. A former key has the id, the name
 * and the role of its successor, and its own end.
 */
export const selectByHashes = ({ read }: CatalogReads, hashes: readonly string[]) =>
  read
    .selectFrom("api_keys as k")
    .select(["k.id", "k.name", "k.role", "k.created_at", "k.issued_at", "k.last_used_at"])
    .select(["k.hash", "k.expires_at"])
    .where("k.hash", "in", hashes)
    .unionAll(
      read
        .selectFrom("former_api_keys as f")
        .innerJoin("api_keys as k", "k.id", "f.key_id")
        .select(["k.id", "k.name", "k.role", "k.created_at", "k.issued_at", "k.last_used_at"])
        .select(["f.hash", "f.expires_at"])
        .where("f.hash", "in", hashes),
    );

/** A cache of keys by the hex text of their hash; SQLite only. */
export function keyCache(db: CatalogReads): CurrentCache<KeyRecord> | undefined {
  if (!db.reader) return undefined;
  const find = db.reader.prepare(selectByHashes(db, [""]));
  return new CurrentCache(db.reader, (hash) => {
    const row = find(hash, hash);
    return row && keyRecord(row);
  });
}
