import type { Catalog, TableRecord } from "../catalog/catalog.js";
import type { Engine } from "../engine/index.js";
import type { Jobs } from "../jobs/jobs.js";
import type { CleanUpSpec } from "../jobs/maintenance.js";
import { specName } from "../operations/job-request.js";
import type { Logger } from "../telemetry/logger.js";
import { type Settings, settingsOf } from "./settings.js";

/** How often written tables are looked at, ms. */
const INTERVAL = 1_000;
/** Writes after which a table is looked at while more come in. */
const MANY_WRITES = 64;
/** Time without a write after which a written table is looked at, ms. */
const QUIET = 3_000;
/** Old versions are looked for after this part of the time that they are kept, within these, ms. */
const CLEAN_UP_PART = 1 / 8;
const CLEAN_UP_AT_LEAST = 60_000;
const CLEAN_UP_AT_MOST = 3_600_000;

/** Keeps tables fit without being asked. */
export interface Maintenance {
  /** A table was written to. */
  touched(key: string): void;
  stop(): Promise<void>;
}

export interface MaintenanceOptions {
  readonly engine: Engine;
  readonly catalog: Pick<Catalog, "tableByKey">;
  readonly jobs: Pick<Jobs, "enqueue">;
  readonly storageOptions: Readonly<Record<string, string>>;
  readonly settings: Settings;
  readonly log: Logger;
}

/** Watches writes and queues jobs for the tables that need them. */
export function startMaintenance(options: MaintenanceOptions): Maintenance {
  return new Watch(options);
}

interface Written {
  writes: number;
  last: number;
}

class Watch implements Maintenance {
  readonly #written = new Map<string, Written>();
  /** When a table was last cleaned up, or first written to. */
  readonly #cleaned = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  #looking = Promise.resolve();

  constructor(private readonly options: MaintenanceOptions) {
    this.#timer = setInterval(() => {
      this.#looking = this.#looking.then(() => this.#look());
    }, INTERVAL);
    this.#timer.unref();
  }

  touched(key: string): void {
    const written = this.#written.get(key);
    if (!written) this.#written.set(key, { writes: 1, last: Date.now() });
    else {
      written.writes++;
      written.last = Date.now();
    }
  }

  stop(): Promise<void> {
    clearInterval(this.#timer);
    return this.#looking;
  }

  async #look(): Promise<void> {
    const now = Date.now();
    for (const [key, { writes, last }] of this.#written) {
      if (writes < MANY_WRITES && now - last < QUIET) continue;
      this.#written.delete(key);
      try {
        await this.#care(key, now);
      } catch (err) {
        this.options.log.warn({ err }, "a table could not be looked at for its maintenance");
      }
    }
  }

  async #care(key: string, now: number): Promise<void> {
    const { catalog, engine, jobs, storageOptions } = this.options;
    const record = await catalog.tableByKey(key);
    if (!record) return void this.#cleaned.delete(key);
    const settings = settingsOf(record, this.options.settings);
    if (!settings.on) return;
    const table = engine.table(record.location, { ...storageOptions, ...record.storageOptions });
    const due = await table.upkeep();
    if (due.compactTo !== undefined || due.unindexedRows > 0) {
      const [kind, spec] = ["maintenance", "{}"];
      await jobs.enqueue({ kind, table: key, name: specName(kind, spec), spec });
    }
    if (this.#mayCleanUp(key, settings, now)) await this.#cleanUp(record, settings);
  }

  /** Versions come and go slowly: a table is not listed for each write. */
  #mayCleanUp(key: string, { keepVersionsMs }: Settings, now: number): boolean {
    const interval = Math.min(
      Math.max(keepVersionsMs * CLEAN_UP_PART, CLEAN_UP_AT_LEAST),
      CLEAN_UP_AT_MOST,
    );
    const last = this.#cleaned.get(key);
    if (last !== undefined && now - last < interval) return false;
    this.#cleaned.set(key, now);
    return true;
  }

  async #cleanUp({ key }: TableRecord, { keepVersionsMs }: Settings): Promise<void> {
    const wanted: CleanUpSpec = { age_ms: keepVersionsMs };
    const [kind, spec] = ["clean_up", JSON.stringify(wanted)];
    // No name that an index could have: clients would find the index being made.
    await this.options.jobs.enqueue({ kind, table: key, name: specName(kind, spec), spec });
  }
}
