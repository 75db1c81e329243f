import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { CatalogDatabase, CatalogReads } from "../database/database.js";
import type { ApiKeysRow } from "../database/schema.js";
import { available, violation } from "../database/sql-error.js";
import { CurrentCache } from "../database/sqlite/reader.js";
import { invalidInput } from "../foundation/errors.js";

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
   * On SQLite a new key and a revocation count at once, from whatever process they come. On Postgres an answer
   * may be up to a second old, except that a server knows the keys that it made itself.
   */
  findByHash(hash: Buffer): Promise<KeyRecord | undefined>;
  /** The same without a promise. Null: no such key. Undefined: only `findByHash` can tell. */
  findByHashSync(hash: Buffer): KeyRecord | null | undefined;
  count(): Promise<number>;
}

/** Age up to which Postgres answers are used again, ms. */
const MAX_AGE = 1_000;
const MAX_REMEMBERED = 10_000;
/** Keys that one query asks for at most. */
const MAX_ASKED = 1_000;

/** A query for keys that waits for the one before it. */
interface Asking {
  readonly hashes: Set<string>;
  readonly found: Promise<ReadonlyMap<string, KeyRecord>>;
}

export class SqlKeyStore implements KeyStore {
  readonly #current: CurrentCache<KeyRecord> | undefined;
  readonly #recent = new Map<string, { key: KeyRecord; until: number }>();
  /** Hashes of no key, and until when that counts. Apart from keys, which a flood of these must not push out. */
  readonly #unknown = new Map<string, number>();
  #asking: Asking | undefined;
  #asked: Promise<unknown> = Promise.resolve();

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
    // Whatever a query that is under way may find.
    remember(this.#recent, row.hash, { key, until: performance.now() + MAX_AGE });
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
    const { numDeletedRows } = await this.db.write((t) =>
      t.deleteFrom("api_keys").where("id", "=", id).executeTakeFirst(),
    );
    this.#recent.clear();
    return numDeletedRows > 0n;
  }

  findByHashSync(hash: Buffer): KeyRecord | null | undefined {
    const hex = hash.toString("hex");
    if (this.#current) return this.#current.get(hex) ?? null;
    const now = performance.now();
    const recent = this.#recent.get(hex);
    if (recent && recent.until > now) return recent.key;
    return (this.#unknown.get(hex) ?? 0) > now ? null : undefined;
  }

  async findByHash(hash: Buffer): Promise<KeyRecord | undefined> {
    const known = this.findByHashSync(hash);
    if (known !== undefined) return known ?? undefined;
    const hex = hash.toString("hex");
    const asking = this.#nextQuery();
    asking.hashes.add(hex);
    return (await asking.found).get(hex);
  }

  /** One query at a time, for all keys that are asked for meanwhile: callers without a key cost no more. */
  #nextQuery(): Asking {
    if (this.#asking && this.#asking.hashes.size < MAX_ASKED) return this.#asking;
    const hashes = new Set<string>();
    const found = this.#asked.then(() => {
      if (this.#asking?.hashes === hashes) this.#asking = undefined;
      return this.#ask([...hashes]);
    });
    this.#asked = found.catch(() => {});
    this.#asking = { hashes, found };
    return this.#asking;
  }

  async #ask(hashes: readonly string[]): Promise<ReadonlyMap<string, KeyRecord>> {
    const until = performance.now() + MAX_AGE;
    const query = this.db.read.selectFrom("api_keys").selectAll().where("hash", "in", hashes);
    const rows = await available(query.execute());
    const found = new Map(rows.map((row) => [row.hash, keyRecord(row)]));
    for (const hex of hashes) {
      const key = found.get(hex);
      if (key) remember(this.#recent, hex, { key, until });
      else remember(this.#unknown, hex, until);
    }
    return found;
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

function remember<T>(known: Map<string, T>, hex: string, value: T): void {
  if (known.size >= MAX_REMEMBERED) known.clear();
  known.set(hex, value);
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
