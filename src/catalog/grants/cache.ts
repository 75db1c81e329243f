import type { CatalogReads } from "../../database/database.js";
import { CurrentCache, type CurrentReader } from "../../database/sqlite/reader.js";
import { countLookup } from "../../telemetry/auth-counts.js";
import { type GrantRow, grantRows } from "./grant-rows.js";
import type { GrantLookup } from "./grants.js";
import { HeldGrants } from "./held-grants.js";

/** The grants of subjects in memory. Each thread has one. */
export interface CachedGrants extends GrantLookup {
  /** To be called after a change of this server. */
  clear(): void;
}

/** `fetch` reads grants from Postgres; a SQLite catalog has a synchronous reader instead. */
export function cachedGrants(
  db: CatalogReads | undefined,
  fetch: (subjects: readonly string[]) => Promise<readonly GrantRow[]>,
): CachedGrants {
  return db?.reader ? new CurrentGrants(db, db.reader) : new TimedGrants(fetch);
}

/** SQLite: never stale. */
class CurrentGrants implements CachedGrants {
  readonly #cache: CurrentCache<HeldGrants>;
  #loads = 0;

  constructor(
    db: CatalogReads,
    private readonly reader: CurrentReader,
  ) {
    const find = reader.prepareAll(grantRows(db).where("subject", "=", ""));
    this.#cache = new CurrentCache(reader, (subject) => {
      this.#loads++;
      return new HeldGrants(find(subject));
    });
  }

  version(): number {
    return this.reader.version();
  }

  heldSync(subjects: readonly string[]): readonly HeldGrants[] {
    const before = this.#loads;
    const held = subjects.map((subject) => this.#cache.get(subject) as HeldGrants);
    countLookup("grants", this.#loads === before);
    return held;
  }

  async held(subjects: readonly string[]): Promise<readonly HeldGrants[]> {
    return this.heldSync(subjects);
  }

  /** Nothing to do: the cache notices each commit. */
  clear(): void {}
}

/** Postgres: largest age of a cached answer, ms. */
const MAX_AGE = 1_000;
const MAX_CACHED = 10_000;

interface TimedEntry {
  readonly held: Promise<HeldGrants>;
  /** Present when the query has ended. */
  value?: HeldGrants;
  readonly until: number;
}

/** Postgres: at most a second old. Requests of one caller that arrive together share one query. */
class TimedGrants implements CachedGrants {
  readonly #entries = new Map<string, TimedEntry>();

  constructor(
    private readonly fetch: (subjects: readonly string[]) => Promise<readonly GrantRow[]>,
  ) {}

  version(): undefined {
    return undefined;
  }

  heldSync(subjects: readonly string[]): readonly HeldGrants[] | undefined {
    const now = performance.now();
    const held: HeldGrants[] = [];
    for (const subject of subjects) {
      const entry = this.#entries.get(subject);
      if (entry?.value === undefined || entry.until <= now) {
        countLookup("grants", false);
        return undefined;
      }
      held.push(entry.value);
    }
    countLookup("grants", true);
    return held;
  }

  held(subjects: readonly string[]): Promise<readonly HeldGrants[]> {
    if (this.#entries.size + subjects.length > MAX_CACHED) this.#entries.clear();
    const now = performance.now();
    const missing = subjects.filter((subject) => (this.#entries.get(subject)?.until ?? 0) <= now);
    if (missing.length > 0) this.#load(missing, now + MAX_AGE);
    return Promise.all(subjects.map((subject) => (this.#entries.get(subject) as TimedEntry).held));
  }

  clear(): void {
    this.#entries.clear();
  }

  #load(subjects: readonly string[], until: number): void {
    const rows = this.fetch(subjects);
    for (const subject of subjects) {
      const held = rows.then((all) => new HeldGrants(all.filter((row) => row.subject === subject)));
      const entry: TimedEntry = { held, until };
      this.#entries.set(subject, entry);
      held.then(
        (value) => {
          entry.value = value;
        },
        // The next request asks again.
        () => {
          if (this.#entries.get(subject) === entry) this.#entries.delete(subject);
        },
      );
    }
  }
}
