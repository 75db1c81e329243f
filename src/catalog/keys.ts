import { randomUUID } from "node:crypto";
import type { CatalogDatabase, Write } from "../database/database.js";
import type { ApiKeysRow } from "../database/schema.js";
import { available, violation } from "../database/sql-error.js";
import type { CurrentCache } from "../database/sqlite/reader.js";
import { invalidInput } from "../foundation/errors.js";
import { type KeyRecord, keyCache, keyRecord, selectByHashes } from "./key-records.js";
import { type KeyRotation, rotateKey } from "./key-rotation.js";

/** The properties of a new key. */
export interface NewKey extends Pick<KeyRecord, "name" | "role" | "hash"> {
  /** How long the key is valid, ms. Undefined: it does not expire. */
  readonly lifetimeMs?: number | undefined;
}

export interface KeyStore {
  /** @throws code 13 when a key of that hash exists */
  create(key: NewKey): Promise<KeyRecord>;
  /**
   * Creates a key and removes all others with its name and role, in one transaction. Does nothing and returns undefined
   * if `condition` does not hold in that transaction.
   */
  replaceNamed(
    key: NewKey,
    condition: (t: Write) => Promise<boolean>,
  ): Promise<KeyRecord | undefined>;
  /** Oldest first. */
  list(): Promise<KeyRecord[]>;
  /** Replaces the key of an id. Returns undefined if there is no such id. @throws code 13 when a key of that hash exists */
  rotate(id: string, rotation: KeyRotation): Promise<KeyRecord | undefined>;
  /** Removes an id with all its keys. Returns false when there is no such id. */
  revoke(id: string): Promise<boolean>;
  /** Stores that keys of these ids were used. */
  recordUses(ids: readonly string[]): Promise<void>;
  /**
   * The key of a hash (SHA-256 as hex text), also if it has expired. SQLite: new keys, rotations and revocations of
   * every process take effect at once. Postgres: the answer may be up to a second old, except for keys that this server
   * made.
   */
  findByHash(hash: string): Promise<KeyRecord | undefined>;
  /** Synchronous lookup. Null: no such key. Undefined: only `findByHash` can answer. */
  findByHashSync(hash: string): KeyRecord | null | undefined;
}

/** Postgres: largest age of a cached answer, ms. */
const MAX_AGE = 1_000;
const MAX_CACHED = 10_000;
/** Hashes or ids in one statement. */
const MAX_HASHES = 1_000;

/** A query that waits for the previous one. It collects hashes meanwhile. */
interface PendingQuery {
  readonly hashes: Set<string>;
  readonly keys: Promise<ReadonlyMap<string, KeyRecord>>;
}

export class SqlKeyStore implements KeyStore {
  readonly #current: CurrentCache<KeyRecord> | undefined;
  readonly #cachedKeys = new Map<string, { key: KeyRecord; until: number }>();
  /** Hashes without a key, with the end of their validity. Separate: a flood of them must not evict keys. */
  readonly #cachedMisses = new Map<string, number>();
  #pending: PendingQuery | undefined;
  #lastQuery: Promise<unknown> = Promise.resolve();

  constructor(private readonly db: CatalogDatabase) {
    this.#current = keyCache(db);
  }

  async create(key: NewKey): Promise<KeyRecord> {
    const row = newRow(key);
    await this.db.write((t) => insertKey(t, row));
    return this.#cacheNew(row);
  }

  async replaceNamed(
    key: NewKey,
    condition: (t: Write) => Promise<boolean>,
  ): Promise<KeyRecord | undefined> {
    const row = newRow(key);
    const isCreated = await this.db.write(async (t) => {
      if (!(await condition(t))) return false;
      const former = await t
        .selectFrom("api_keys")
        .select("id")
        .where("name", "=", row.name)
        .where("role", "=", row.role)
        .execute();
      for (const { id } of former) await deleteKey(t, id);
      await insertKey(t, row);
      return true;
    });
    if (!isCreated) return undefined;
    this.#cachedKeys.clear();
    return this.#cacheNew(row);
  }

  async rotate(id: string, rotation: KeyRotation): Promise<KeyRecord | undefined> {
    const row = await this.db.write((t) => rotateKey(t, id, rotation).catch(refuseDuplicate));
    this.#cachedKeys.clear();
    return row && this.#cacheNew(row);
  }

  #cacheNew(row: ApiKeysRow): KeyRecord {
    const key = keyRecord(row);
    // Also when a running query did not see the key yet.
    addToCache(this.#cachedKeys, row.hash, { key, until: performance.now() + MAX_AGE });
    return key;
  }

  async list(): Promise<KeyRecord[]> {
    const query = this.db.read
      .selectFrom("api_keys")
      .selectAll()
      .orderBy("created_at")
      .orderBy("id");
    return (await available(query.execute())).map(keyRecord);
  }

  async revoke(id: string): Promise<boolean> {
    const isDeleted = await this.db.write((t) => deleteKey(t, id));
    this.#cachedKeys.clear();
    return isDeleted;
  }

  async recordUses(ids: readonly string[]): Promise<void> {
    for (let from = 0; from < ids.length; from += MAX_HASHES) {
      const some = ids.slice(from, from + MAX_HASHES);
      await this.db.write((t) =>
        t
          .updateTable("api_keys")
          .set({ last_used_at: Date.now() })
          .where("id", "in", some)
          .execute(),
      );
    }
  }

  findByHashSync(hash: string): KeyRecord | null | undefined {
    if (this.#current) return this.#current.get(hash) ?? null;
    const now = performance.now();
    const cached = this.#cachedKeys.get(hash);
    if (cached && cached.until > now) return cached.key;
    return (this.#cachedMisses.get(hash) ?? 0) > now ? null : undefined;
  }

  async findByHash(hash: string): Promise<KeyRecord | undefined> {
    const cached = this.findByHashSync(hash);
    if (cached !== undefined) return cached ?? undefined;
    const query = this.#nextQuery();
    query.hashes.add(hash);
    return (await query.keys).get(hash);
  }

  /** One query runs at a time, for all hashes that arrived meanwhile: a flood of invalid keys costs no more. */
  #nextQuery(): PendingQuery {
    if (this.#pending && this.#pending.hashes.size < MAX_HASHES) return this.#pending;
    const hashes = new Set<string>();
    const keys = this.#lastQuery.then(() => {
      if (this.#pending?.hashes === hashes) this.#pending = undefined;
      return this.#query([...hashes]);
    });
    this.#lastQuery = keys.catch(() => {});
    this.#pending = { hashes, keys };
    return this.#pending;
  }

  async #query(hashes: readonly string[]): Promise<ReadonlyMap<string, KeyRecord>> {
    const until = performance.now() + MAX_AGE;
    const rows = await available(selectByHashes(this.db, hashes).execute());
    const keys = new Map(rows.map((row) => [row.hash, keyRecord(row)]));
    for (const hex of hashes) {
      const key = keys.get(hex);
      if (key) addToCache(this.#cachedKeys, hex, { key, until });
      else addToCache(this.#cachedMisses, hex, until);
    }
    return keys;
  }
}

function newRow({ name, role, hash, lifetimeMs }: NewKey): ApiKeysRow {
  const now = Date.now();
  return {
    id: randomUUID(),
    name,
    role,
    hash: hash.toString("hex"),
    created_at: now,
    issued_at: null,
    expires_at: lifetimeMs === undefined ? null : now + lifetimeMs,
    last_used_at: null,
  };
}

const insertKey = (t: Write, row: ApiKeysRow) =>
  t.insertInto("api_keys").values(row).execute().catch(refuseDuplicate);

/** Deletes an id with its keys and grants. Returns false when there is no such id. */
async function deleteKey(t: Write, id: string): Promise<boolean> {
  await t.deleteFrom("grants").where("subject", "=", `key:${id}`).execute();
  const { numDeletedRows } = await t.deleteFrom("api_keys").where("id", "=", id).executeTakeFirst();
  return numDeletedRows > 0n;
}

function addToCache<T>(entries: Map<string, T>, hex: string, value: T): void {
  if (entries.size >= MAX_CACHED) entries.clear();
  entries.set(hex, value);
}

function refuseDuplicate(error: unknown): never {
  throw violation(error) === "unique" ? invalidInput("this API key exists already") : error;
}
