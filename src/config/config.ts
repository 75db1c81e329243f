import type { LogLevel } from "../telemetry/logger.js";

/** Whether and how joust maintains a table. */
export interface MaintenanceSettings {
  readonly on: boolean;
  /** How long versions are kept that no tag and no branch refers to, ms. */
  readonly keepVersionsMs: number;
}

/** What a server is told; paths are absolute, sizes in bytes, times in ms. */
export interface Config {
  /** Absolute path of a directory, or a URI without a slash at the end. */
  readonly root: string;
  readonly host: string;
  readonly port: number;
  readonly http: "auto" | "uws" | "node";
  /** Absolute paths of PEM files. Without them the server speaks plain HTTP. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  readonly auth: "keys" | "none";
  /** Names, beside loopback ones and `host`, by which a server without keys may be found. */
  readonly allowedHosts: readonly string[];
  /** An admin key from outside the store. */
  readonly apiKey?: string;
  /** Where the first admin key of a new catalog is written. */
  readonly firstKeyFile: string;
  readonly logLevel: LogLevel;
  /** `postgres://...`, or the absolute path of a SQLite file. */
  readonly catalog: string;
  readonly maxJsonBytes: number;
  /** 0 is no limit. */
  readonly maxUploadBytes: number;
  /** How tables are kept fit that have no settings of their own. */
  readonly maintenance: MaintenanceSettings;
  /** Tables below a local root may be reached through symbolic links. */
  readonly followLinks: boolean;
  /** An answered write on a local disk survives a power cut. */
  readonly synced: boolean;
  /** What everything together may hold in memory; the caches are a part of it. */
  readonly memoryBytes: number;
  readonly indexCacheBytes?: number;
  readonly metadataCacheBytes?: number;
  /** 0 keeps no rows. */
  readonly rowCacheBytes?: number;
  readonly stalenessMs?: number;
  /** 0 is no limit, here and for views. */
  readonly queryTimeoutMs: number;
  readonly viewTimeoutMs: number;
  readonly viewDiskBytes: number;
  /** Identifiers of tables that are loaded at the start. */
  readonly prewarm: readonly (readonly string[])[];
  /** Threads that take requests. */
  readonly httpThreads: number;
  readonly cpuThreads?: number;
  readonly storageOptions: Readonly<Record<string, string>>;
  readonly drainTimeoutMs: number;
}
