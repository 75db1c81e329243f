import type { LogLevel } from "../telemetry/logger.js";
import type { OtlpSettings } from "../telemetry/otlp/start.js";
import type { AuditLogConfig } from "./audit-log.js";
import type { FunctionSettings } from "./functions.js";
import type { RaySettings } from "./ray.js";
import type { VendingSettings } from "./vending.js";

/** How the server maintains tables. */
export interface MaintenanceSettings {
  readonly on: boolean;
  /** How long the server keeps versions that no tag and no branch refers to, ms. */
  readonly keepVersionsMs: number;
  /** Interval of the automatic refreshes of columns and views that declare none, ms. */
  readonly autoRefreshMs: number;
}

/** An identity provider whose tokens the server accepts. */
export interface OidcSettings {
  /** Exactly as in the claim `iss`. */
  readonly issuer: string;
  /** A token must be for one of them (claim `aud`). */
  readonly audiences: readonly string[];
  /** The address of the key set. Without it the server finds it by discovery. */
  readonly jwksUrl?: string;
  readonly groupsClaim: string;
  /** Without it the name is the claim `email` or the subject. */
  readonly nameClaim?: string;
  /** Roles of groups. A user without such a group has the role `none`. */
  readonly roles: readonly (readonly [group: string, role: "read" | "write" | "admin"])[];
  /** How far the clocks of the provider and of this server may differ. */
  readonly clockSkewMs: number;
}

/** The configuration of a server. Paths are absolute, sizes are in bytes, times in ms. */
export interface Config {
  /** Absolute path of a directory, or a URI without a slash at the end. */
  readonly root: string;
  readonly host: string;
  readonly port: number;
  /** 0 disables Flight SQL. Absent: the port after `port`, or a free one if `port` is 0. */
  readonly sqlPort?: number;
  readonly http: "auto" | "uws" | "node";
  /** Absolute paths of PEM files. Without them the server speaks plain HTTP. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  readonly auth: "keys" | "none";
  /** Valid host names of a server without keys, beside `host` and loopback names. */
  readonly allowedHosts: readonly string[];
  /** Tokens of this identity provider are accepted beside keys. */
  readonly oidc?: OidcSettings;
  /** The origins whose pages may call the server from a browser (CORS); `*` is every origin. Without it: none. */
  readonly corsOrigins?: readonly string[];
  /** An admin key that is not in the catalog. */
  readonly apiKey?: string;
  /** The file for the first admin key of a new catalog. */
  readonly firstKeyFile: string;
  /** What the name of a database of a LanceDB client selects; see src/auth/database-scope.ts. */
  readonly lancedbDatabases: "existing" | "required" | "ignored";
  /** Absolute path of the limits file. Without it there are no limits. */
  readonly limitsFile?: string;
  readonly logLevel: LogLevel;
  /** Absent without `--audit-log`. */
  readonly auditLog?: AuditLogConfig;
  /** Absent if the environment names no OTLP endpoint. */
  readonly otlp?: OtlpSettings;
  /** `postgres://...`, or the absolute path of a SQLite file. */
  readonly catalog: string;
  /** They encrypt the secrets in the catalog: the first one encrypts, the others only decrypt. */
  readonly catalogKeys?: readonly Uint8Array[];
  readonly maxJsonBytes: number;
  /** 0 is no limit. */
  readonly maxUploadBytes: number;
  /** The settings for tables that have none. */
  readonly maintenance: MaintenanceSettings;
  /** Follow symbolic links to tables in a local root. */
  readonly followLinks: boolean;
  /** An acknowledged write to a local disk survives a power failure. */
  readonly synced: boolean;
  /** The memory budget of the process, including the caches. */
  readonly memoryBytes: number;
  readonly indexCacheBytes?: number;
  readonly metadataCacheBytes?: number;
  /** 0 disables the row cache. */
  readonly rowCacheBytes?: number;
  readonly stalenessMs?: number;
  /** 0 is no limit. */
  readonly queryTimeoutMs: number;
  /** Until the reply begins. 0 is no limit. */
  readonly requestTimeoutMs: number;
  /** 0 is no limit. */
  readonly viewTimeoutMs: number;
  readonly viewDiskBytes: number;
  /** Identifiers of the tables that the server loads at the start. */
  readonly prewarm: readonly (readonly string[])[];
  /** Threads that serve requests. */
  readonly httpThreads: number;
  readonly cpuThreads?: number;
  readonly storageOptions: Readonly<Record<string, string>>;
  readonly drainTimeoutMs: number;
  /** Absent: clients get no credentials. */
  readonly vending?: VendingSettings;
  /** Absent: the server runs no Python functions in processes of its own. */
  readonly functions?: FunctionSettings;
  /** Absent: all jobs run in this server. */
  readonly ray?: RaySettings;
}
