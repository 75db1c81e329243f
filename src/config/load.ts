import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isPostgres, isRemote } from "../foundation/addresses.js";
import { isLoopback } from "../foundation/loopback.js";
import { apiKeyOf } from "./api-key.js";
import { auditLogOf } from "./audit-log.js";
import { catalogKeysOf } from "./catalog-key.js";
import type { Config } from "./config.js";
import { functionsOf } from "./functions.js";
import { oidcOf } from "./oidc.js";
import { ConfigError, type Option } from "./option.js";
import { type OptionName, type OptionValues, serverOptions } from "./options.js";
import { corsOriginsOf } from "./origins.js";
import { otlpSettings } from "./otlp.js";
import { rayOf } from "./ray.js";
import { environmentSource, fileSource, flagSource, type OptionSource } from "./sources.js";
import { vendingOf } from "./vending.js";

export interface ConfigContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The working directory, the base of relative paths. */
  readonly cwd: string;
  readonly platform?: NodeJS.Platform;
}

/**
 * Loads the configuration. A flag overrides the environment, and the environment overrides the TOML file.
 * @throws ConfigError with one sentence that describes a valid value
 */
export function loadConfig(
  args: readonly string[],
  { env, cwd, platform = process.platform }: ConfigContext,
): Config {
  const flags = flagSource(args);
  // An empty variable is ignored, like those of the options.
  const file = fileSource(cwd, flags.configFile ?? (env.JOUST_CONFIG || undefined));
  const values = valuesOf([flags, environmentSource(env), ...(file ? [file] : [])]);
  checkCombinations(values, platform);
  const root = isLocal(values.root)
    ? resolve(cwd, pathOf(values.root))
    : bucketOf(values.root.replace(/\/+$/, ""));
  const catalog = catalogOf(values.catalog, root, cwd);
  const apiKey = apiKeyOf(values["api-key"], values["api-key-file"], cwd);
  return {
    root,
    host: values.host,
    port: values.port,
    http: values.http,
    lancedbDatabases: values["lancedb-databases"],
    auth: values.auth,
    logLevel: values["log-level"],
    catalog,
    firstKeyFile: firstKeyFile(root, catalog, cwd),
    allowedHosts: values["allowed-host"],
    maxJsonBytes: values["max-json-bytes"],
    maxUploadBytes: values["max-upload-bytes"],
    maintenance: {
      on: values.maintenance === "on",
      keepVersionsMs: values["keep-versions"],
      autoRefreshMs: values["auto-refresh-interval"],
    },
    followLinks: values["follow-links"] === "always",
    synced: values.durability === "synced",
    memoryBytes: values.memory,
    storageOptions: Object.fromEntries(values["storage-option"]),
    drainTimeoutMs: values["drain-timeout"],
    queryTimeoutMs: values["query-timeout"],
    requestTimeoutMs: values["request-timeout"],
    viewTimeoutMs: values["view-timeout"],
    viewDiskBytes: values["view-disk"],
    prewarm: values.prewarm,
    httpThreads: values["http-threads"],
    ...present("vending", vendingOf("vend-role", values, root)),
    ...present("functions", functionsOf(values, cwd, platform)),
    ...present("ray", rayOf(values, root, cwd)),
    ...present("sqlPort", values["sql-port"]),
    ...present("tls", tlsOf(values["tls-cert"], values["tls-key"], cwd)),
    ...present("limitsFile", values.limits && resolve(cwd, values.limits)),
    ...present("auditLog", auditLogOf(values, cwd)),
    ...present("otlp", otlpSettings(env)),
    ...present("apiKey", apiKey),
    ...present(
      "catalogKeys",
      catalogKeysOf(values["catalog-key"], values["catalog-key-file"], cwd),
    ),
    ...present("oidc", oidcOf(values, values.auth, apiKey)),
    ...present("corsOrigins", corsOriginsOf(values["cors-origins"].flat(), values.auth)),
    ...present("indexCacheBytes", values["index-cache"]),
    ...present("metadataCacheBytes", values["metadata-cache"]),
    ...present("rowCacheBytes", values["row-cache"]),
    ...present("stalenessMs", values.staleness),
    ...present("cpuThreads", values["cpu-threads"]),
  };
}

/** @throws ConfigError for options that exclude each other */
function checkCombinations(values: OptionValues, platform: NodeJS.Platform): void {
  if (values.auth === "none" && !isLoopback(values.host)) {
    throw new ConfigError(
      `--auth none is for loopback addresses: ${values.host} is reachable from other hosts, so use keys or --host 127.0.0.1`,
    );
  }
  if (values.port === 65535 && values["sql-port"] === undefined) {
    throw new ConfigError(
      "--port 65535 needs --sql-port: there is no port after it for Flight SQL; --sql-port 0 disables Flight SQL",
    );
  }
  const caches = [values["index-cache"], values["metadata-cache"], values["row-cache"]];
  if (caches.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0) > values.memory / 2) {
    throw new ConfigError(
      "--index-cache, --metadata-cache and --row-cache together must be at most half of --memory: requests need the other half",
    );
  }
  if (values["http-threads"] > 1 && platform !== "linux") {
    throw new ConfigError(
      `--http-threads must be 1 on ${platform}: only Linux distributes the connections of one port among threads`,
    );
  }
  if (platform === "win32" && values.durability !== "os") {
    throw new ConfigError(
      "--durability must be os on Windows: joust cannot make a directory entry survive a power failure on Windows",
    );
  }
}

const present = <Key extends string, T>(key: Key, value: T | undefined) =>
  (value === undefined ? {} : { [key]: value }) as { [K in Key]?: T };

function valuesOf(sources: readonly OptionSource[]): OptionValues {
  const entries = (Object.keys(serverOptions) as OptionName[]).map((name) => [
    name,
    read(name, serverOptions[name], sources),
  ]);
  return Object.fromEntries(entries);
}

function read(
  name: OptionName,
  option: Option<unknown>,
  sources: readonly OptionSource[],
): unknown {
  const from = (source: OptionSource) =>
    source.get(name)?.map((text) => {
      try {
        return option.type.parse(text);
      } catch (error) {
        throw new ConfigError(`${source.label(name)} ${(error as Error).message}`);
      }
    });
  // The weakest source first: a later value overrides an earlier one of the same key.
  if (option.repeatable) return [...sources].reverse().flatMap((source) => from(source) ?? []);
  const strongest = sources.find((source) => source.get(name));
  if (strongest) return from(strongest)?.[0];
  return option.fallback === undefined ? undefined : option.type.parse(option.fallback);
}

function tlsOf(cert: string | undefined, key: string | undefined, cwd: string): Config["tls"] {
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined) {
    throw new ConfigError(
      `${cert === undefined ? "--tls-key" : "--tls-cert"} needs ${cert === undefined ? "--tls-cert" : "--tls-key"} too: HTTPS takes a certificate and its key`,
    );
  }
  return { certFile: resolve(cwd, cert), keyFile: resolve(cwd, key) };
}

const isLocal = (root: string): boolean => !isRemote(root) || root.startsWith("file://");

const pathOf = (root: string): string => (root.startsWith("file://") ? fileURLToPath(root) : root);

/** A URI ends its path before `#` and `?`: all tables below such a root would have one location. */
function bucketOf(root: string): string {
  if (!/[#?]/.test(root)) return root;
  throw new ConfigError(`ROOT must have neither \`#\` nor \`?\` in a URI, got ${root}`);
}

/** With a remote root the SQLite file is in the working directory: SQLite cannot lock a file in an object store. */
function catalogOf(option: string | undefined, root: string, cwd: string): string {
  if (option !== undefined) return isPostgres(option) ? option : resolve(cwd, option);
  return isRemote(root) ? resolve(cwd, "joust-catalog.db") : join(root, ".joust", "catalog.db");
}

/** A file beside the catalog: other users of the host must not read either. */
function firstKeyFile(root: string, catalog: string, cwd: string): string {
  if (!isRemote(root)) return join(root, ".joust", "admin-key");
  return join(isPostgres(catalog) ? cwd : dirname(catalog), "joust-admin-key");
}
