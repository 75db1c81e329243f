import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isPostgres, isRemote } from "../foundation/addresses.js";
import { isLoopback } from "../foundation/loopback.js";
import { apiKeyOf } from "./api-key.js";
import type { Config } from "./config.js";
import { ConfigError, type Option } from "./option.js";
import { type OptionName, type OptionValues, serverOptions } from "./options.js";
import { environmentSource, fileSource, flagSource, type OptionSource } from "./sources.js";

export interface ConfigContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Working directory: what relative paths are relative to. */
  readonly cwd: string;
  readonly platform?: NodeJS.Platform;
}

/**
 * The configuration that arguments, environment and TOML file give, in that order of strength.
 * @throws ConfigError with one sentence that says what would be right.
 */
export function loadConfig(
  args: readonly string[],
  { env, cwd, platform = process.platform }: ConfigContext,
): Config {
  const flags = flagSource(args);
  const file = fileSource(cwd, flags.configFile ?? env.JOUST_CONFIG);
  const given = valuesOf([flags, environmentSource(env), ...(file ? [file] : [])]);
  if (given.auth === "none" && !isLoopback(given.host)) {
    throw new ConfigError(
      `--auth none is for loopback addresses: ${given.host} can be reached from elsewhere, so use keys or --host 127.0.0.1`,
    );
  }
  const caches = [given["index-cache"], given["metadata-cache"], given["row-cache"]];
  if (caches.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0) > given.memory / 2) {
    throw new ConfigError(
      "--index-cache, --metadata-cache and --row-cache together must be at most half of --memory: requests need the rest",
    );
  }
  if (given["http-threads"] > 1 && platform !== "linux") {
    throw new ConfigError(
      `--http-threads must be 1 on ${platform}: only Linux shares the connections of one port out among threads`,
    );
  }
  if (platform === "win32" && given.durability !== "os") {
    throw new ConfigError(
      "--durability must be os on Windows: joust cannot make a directory entry survive a power cut there",
    );
  }
  const root = isLocal(given.root)
    ? resolve(cwd, pathOf(given.root))
    : given.root.replace(/\/+$/, "");
  const catalog = catalogOf(given.catalog, root, cwd);
  return {
    root,
    host: given.host,
    port: given.port,
    http: given.http,
    auth: given.auth,
    logLevel: given["log-level"],
    catalog,
    firstKeyFile: firstKeyFile(root, catalog, cwd),
    allowedHosts: given["allowed-host"],
    maxJsonBytes: given["max-json-bytes"],
    maxUploadBytes: given["max-upload-bytes"],
    maintenance: {
      on: given.maintenance === "on",
      keepVersionsMs: given["keep-versions"],
    },
    followLinks: given["follow-links"] === "always",
    synced: given.durability === "synced",
    memoryBytes: given.memory,
    storageOptions: Object.fromEntries(given["storage-option"]),
    drainTimeoutMs: given["drain-timeout"],
    queryTimeoutMs: given["query-timeout"],
    viewTimeoutMs: given["view-timeout"],
    viewDiskBytes: given["view-disk"],
    prewarm: given.prewarm,
    httpThreads: given["http-threads"],
    ...present("tls", tlsOf(given["tls-cert"], given["tls-key"], cwd)),
    ...present("apiKey", apiKeyOf(given["api-key"], given["api-key-file"], cwd)),
    ...present("indexCacheBytes", given["index-cache"]),
    ...present("metadataCacheBytes", given["metadata-cache"]),
    ...present("rowCacheBytes", given["row-cache"]),
    ...present("stalenessMs", given.staleness),
    ...present("cpuThreads", given["cpu-threads"]),
  };
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
  // Weakest first: of two values for one key the later, stronger one counts.
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

/** A remote root has no place for a file that SQLite can lock: it stays with the server. */
function catalogOf(given: string | undefined, root: string, cwd: string): string {
  if (given !== undefined) return isPostgres(given) ? given : resolve(cwd, given);
  return isRemote(root) ? resolve(cwd, "joust-catalog.db") : join(root, ".joust", "catalog.db");
}

/** Beside the catalog's own file, which other users of the host have no business with either. */
function firstKeyFile(root: string, catalog: string, cwd: string): string {
  if (!isRemote(root)) return join(root, ".joust", "admin-key");
  return join(isPostgres(catalog) ? cwd : dirname(catalog), "joust-admin-key");
}
