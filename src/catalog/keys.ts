import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { CatalogDatabase, CatalogReads } from "../database/database.js";
import type { ApiKeysRow } from "../database/schema.js";
import { available, violation } from "../database/sql-error.js";
import { CurrentCache } from "../database/sqlite/reader.js";
import { invalidInput } from "../foundation/errors.js";

/** The stored form of an API key: its hash, never the key. */
export interface KeyRecord {
  id: string;
  name: string;
  role: "none" | "read" | "write" | "admin";
  /** SHA-256 of the key. */
  hash: Buffer;
  createdMillis: number;
  /** Keys are in no group: the record is the identity of its caller. */
  groups: readonly string[];
}

export interface KeyStore {
  /** @throws code 13 when a key of that hash exists */
  create(key: Pick<KeyRecord, "name" | "role" | "hash">): Promise<KeyRecord>;
  /** Oldest first. */
  list(): Promise<KeyRecord[]>;
  /** Returns false when there is no such key. */
  revoke(id: string): Promise<boolean>;
  /**
   * SQLite: new keys and revocations of every process take effect at once. Postgres: the answer may be up to a second
   * old, except for keys that this server made.
   */
  findByHash(hash: Buffer): Promise<KeyRecord | undefined>;
  /** Synchronous lookup. Null: no such key. Undefined: only `findByHash` can answer. */
  findByHashSync(hash: Buffer): KeyRecord | null | undefined;
  count(): Promise<number>;
}

/** Postgres: largest age of a cached answer, ms. */
const MAX_AGE = 1_000;
const MAX_CACHED = 10_000;
/** Hashes in one query. */
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

  async create({ name, role, hash }: Pick<KeyRecord, "name" | "role" | "hash">) {
    const row: ApiKeysRow = {
      id: randomUUID(),
      name,
      role,
      hash: hash.toString("hex"),
      created_at: Date.now(),
    };
    await this.db.write((t) =>
      t
        .insertInto("api_keys")
        .values(row)
        .execute()
        .catch((error) => {
          throw violation(error) === "unique" ? invalidInput("this API key exists already") : error;
        }),
    );
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
    const { numDeletedRows } = await this.db.write(async (t) => {
      await t.deleteFrom("grants").where("subject", "=", `key:${id}`).execute();
      return t.deleteFrom("api_keys").where("id", "=", id).executeTakeFirst();
    });
    this.#cachedKeys.clear();
    return numDeletedRows > 0n;
  }

  findByHashSync(hash: Buffer): KeyRecord | null | undefined {
    const hex = hash.toString("hex");
    if (this.#current) return this.#current.get(hex) ?? null;
    const now = performance.now();
    const cached = this.#cachedKeys.get(hex);
    if (cached && cached.until > now) return cached.key;
    return (this.#cachedMisses.get(hex) ?? 0) > now ? null : undefined;
  }

  async findByHash(hash: Buffer): Promise<KeyRecord | undefined> {
    const cached = this.findByHashSync(hash);
    if (cached !== undefined) return cached ?? undefined;
    const hex = hash.toString("hex");
    const query = this.#nextQuery();
    query.hashes.add(hex);
    return (await query.keys).get(hex);
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
    const query = this.db.read.selectFrom("api_keys").selectAll().where("hash", "in", hashes);
    const rows = await available(query.execute());
    const keys = new Map(rows.map((row) => [row.hash, keyRecord(row)]));
    for (const hex of hashes) {
      const key = keys.get(hex);
      if (key) addToCache(this.#cachedKeys, hex, { key, until });
      else addToCache(this.#cachedMisses, hex, until);
    }
    return keys;
  }

  async count(): Promise<number> {
    const row = await available(
      this.db.read
        .selectFrom("api_keys")
        .select(sql<number>`count(*)`.as("count"))
        .executeTakeFirstOrThrow(),
    );
    return Number(row.count);
  }
}

function addToCache<T>(entries: Map<string, T>, hex: string, value: T): void {
  if (entries.size >= MAX_CACHED) entries.clear();
  entries.set(hex, value);
}

/** A cache of keys by the hex text of their hash; SQLite only. */
export function keyCache(db: CatalogReads): CurrentCache<KeyRecord> | undefined {
  if (!db.reader) return undefined;
  const find = db.reader.prepare(byHash(db, ""));
  return new CurrentCache(db.reader, (hash) => {
    const row = find(hash);
    return row && keyRecord(row);
  });
}

const byHash = ({ read }: CatalogReads, hex: string) =>
  read.selectFrom("api_keys").selectAll().where("hash", "=", hex);

const keyRecord = (row: ApiKeysRow): KeyRecord => ({
  id: row.id,
  name: row.name,
  role: row.role,
  hash: Buffer.from(row.hash, "hex"),
  createdMillis: row.created_at,
  groups: [],
});
