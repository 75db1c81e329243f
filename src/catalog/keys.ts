import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { invalidInput } from "../errors.js";
import type { CatalogDatabase, CatalogReads } from "./database.js";
import type { ApiKeysRow } from "./schema.js";
import { available, violation } from "./sql-error.js";
import { CurrentCache } from "./sqlite/reader.js";

/** An API key as it is kept: its hash, never the key. */
export interface KeyRecord {
  id: string;
  name: string;
  role: "read" | "write" | "admin";
  /** SHA-256 of the key. */
  hash: Buffer;
  createdMillis: number;
}

export interface KeyStore {
  /** Code 13 when a key of that hash exists. */
  create(key: Pick<KeyRecord, "name" | "role" | "hash">): Promise<KeyRecord>;
  /** Oldest first. */
  list(): Promise<KeyRecord[]>;
  /** False when there is no such key. */
  revoke(id: string): Promise<boolean>;
  /**
   * On SQLite a revocation counts at once, from whatever process it comes. On Postgres an answer
   * may be up to a second old, for keys that exist; an unknown key is asked for every time.
   */
  findByHash(hash: Buffer): Promise<KeyRecord | undefined>;
  /** The same without a promise. Null: no such key. Undefined: only `findByHash` can tell. */
  findByHashSync(hash: Buffer): KeyRecord | null | undefined;
  count(): Promise<number>;
}

/** Age up to which Postgres answers are used again, ms. */
const MAX_AGE = 1_000;
const MAX_REMEMBERED = 10_000;

export class SqlKeyStore implements KeyStore {
  readonly #current: CurrentCache<KeyRecord> | undefined;
  readonly #recent = new Map<string, { key: KeyRecord; until: number }>();

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
    return keyRecord(row);
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
    const { numDeletedRows } = await this.db.write((t) =>
      t.deleteFrom("api_keys").where("id", "=", id).executeTakeFirst(),
    );
    this.#recent.clear();
    return numDeletedRows > 0n;
  }

  findByHashSync(hash: Buffer): KeyRecord | null | undefined {
    const hex = hash.toString("hex");
    if (this.#current) return this.#current.get(hex) ?? null;
    const recent = this.#recent.get(hex);
    return recent && recent.until > performance.now() ? recent.key : undefined;
  }

  async findByHash(hash: Buffer): Promise<KeyRecord | undefined> {
    const known = this.findByHashSync(hash);
    if (known !== undefined) return known ?? undefined;
    const hex = hash.toString("hex");
    const asked = performance.now();
    const row = await available(this.#byHash(hex).executeTakeFirst());
    if (!row) return undefined;
    const key = keyRecord(row);
    if (this.#recent.size >= MAX_REMEMBERED) this.#recent.clear();
    this.#recent.set(hex, { key, until: asked + MAX_AGE });
    return key;
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

  #byHash(hex: string) {
    return byHash(this.db, hex);
  }
}

/** Keys by the hex of their hash, from memory; undefined where that cannot be. */
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
});
