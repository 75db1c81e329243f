import { logLevels } from "../telemetry/logger.js";
import {
  choice,
  duration,
  hostName,
  integer,
  memory,
  type Option,
  type OptionType,
  pair,
  size,
  table,
  text,
} from "./option.js";

const option = <const O extends Option<unknown>>(declaration: O): O => declaration;

/**
 * Every option of the server. `drain-timeout` is `--drain-timeout` as a flag, `JOUST_DRAIN_TIMEOUT`
 * in the environment and `drain-timeout` in the TOML file; parsing, help and errors follow from here.
 */
export const serverOptions = {
  root: option({
    type: text("ROOT"),
    fallback: "./joust-data",
    help: "directory, or s3://, gs://, az:// URI, that holds the tables",
  }),
  host: option({ type: text("HOST"), fallback: "127.0.0.1", help: "address to listen on" }),
  port: option({
    type: integer(0, 65535),
    fallback: "2333",
    help: "port to listen on; 0 lets the system choose",
  }),
  http: option({
    type: choice(["auto", "uws", "node"]),
    fallback: "auto",
    help: "HTTP transport: uWebSockets.js (uws), Node's own (node), or uWebSockets.js 20.57 where it loads and node elsewhere (auto)",
  }),
  "tls-cert": option({
    type: text("FILE"),
    help: "certificate chain (PEM) for HTTPS; read again on SIGHUP and when it changes",
  }),
  "tls-key": option({
    type: text("FILE"),
    help: "private key (PEM) of --tls-cert",
  }),
  auth: option({
    type: choice(["keys", "none"]),
    fallback: "keys",
    help: "who may send requests: holders of a key, or (on loopback only) everybody",
  }),
  "allowed-host": option({
    type: hostName,
    repeatable: true,
    help: "with --auth none: another name that requests may be sent to, and whose pages may send them",
  }),
  "api-key": option({
    type: text("KEY"),
    help: "one more key, an admin's, that is not stored; as a flag it shows in the list of processes",
  }),
  "api-key-file": option({
    type: text("FILE"),
    help: "file with that key on its only line",
  }),
  "log-level": option({
    type: choice(logLevels),
    fallback: "info",
    help: "what is logged to stderr, as JSON lines; debug has a line per request",
  }),
  catalog: option({
    type: text("URL|FILE"),
    help: "postgres://... or a SQLite file; default: ROOT/.joust/catalog.db, and ./joust-catalog.db for a remote ROOT",
  }),
  "max-json-bytes": option({
    type: size,
    fallback: "16MiB",
    help: "largest JSON body that is accepted",
  }),
  "max-upload-bytes": option({
    type: size,
    fallback: "0",
    help: "largest Arrow body that is accepted; 0 is no limit",
  }),
  "follow-links": option({
    type: choice(["always", "never"]),
    fallback: "always",
    help: "whether a symbolic link in ROOT that leads to a Lance table is served as that table",
  }),
  durability: option({
    type: choice(["synced", "os"]),
    fallback: "synced",
    help: "what an answered write on a local disk survives: synced a power cut, os the end of the process",
  }),
  maintenance: option({
    type: choice(["on", "off"]),
    fallback: "on",
    help: "compact tables, bring indexes up to date and remove old versions in the background",
  }),
  "keep-versions": option({
    type: duration,
    fallback: "7d",
    help: "how long versions are kept that no tag and no branch holds",
  }),
  memory: option({
    type: memory,
    fallback: "60%",
    help: "memory for everything together, as a size or a part of the machine's (or its cgroup's)",
  }),
  "index-cache": option({
    type: size,
    help: "the part of --memory for opened index data; default: a quarter",
  }),
  "metadata-cache": option({
    type: size,
    help: "the part of --memory for manifests, schemas and file metadata; default: a sixteenth",
  }),
  "row-cache": option({
    type: size,
    help: "the part of --memory for rows and vectors that queries keep asking for; 0 leaves every search but text's to Lance; default: an eighth",
  }),
  staleness: option({
    type: duration,
    help: "how old an answer about a table on a remote store may be; 0 always asks the store",
  }),
  "query-timeout": option({
    type: duration,
    fallback: "5m",
    help: "how long a query, a count or a plan may work before it is ended; what its reader takes does not count; 0 is no limit",
  }),
  "view-timeout": option({
    type: duration,
    fallback: "1h",
    help: "how long the refresh of a view may work before it is ended; 0 is no limit",
  }),
  "view-disk": option({
    type: size,
    fallback: "10GiB",
    help: "temporary files that the refresh of a view, or a SQL statement, may write, in the system's directory for them (TMPDIR)",
  }),
  prewarm: option({
    type: table,
    repeatable: true,
    help: "table (NAMESPACE$TABLE) whose indexes and columns are loaded at the start, as far as they fit; /readyz is 503 until then",
  }),
  "cpu-threads": option({
    type: integer(1, 1024),
    help: "threads that decode and compute; default: one per core",
  }),
  "http-threads": option({
    type: integer(1, 64),
    fallback: "1",
    help: "threads that take requests on the port (Linux); more than 1 pay where one is busy all the time and cores are idle",
  }),
  "storage-option": option({
    type: pair,
    repeatable: true,
    help: "setting of the object store, such as aws_endpoint=http://localhost:9000",
  }),
  "drain-timeout": option({
    type: duration,
    fallback: "30s",
    help: "how long a stopping server waits for requests in flight",
  }),
};

export type OptionName = keyof typeof serverOptions;

type ValueOf<O> = O extends { type: OptionType<infer T> }
  ? O extends { repeatable: true }
    ? T[]
    : O extends { fallback: string }
      ? T
      : T | undefined
  : never;

/** What was given, by option name. */
export type OptionValues = { [Name in OptionName]: ValueOf<(typeof serverOptions)[Name]> };
