import { logLevels } from "../telemetry/logger.js";
import { groupRoles, providerUrl } from "./oidc.js";
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
import { origins } from "./origins.js";
import { amount, httpUrl } from "./ray.js";
import { roleArn } from "./vending.js";

const option = <const O extends Option<unknown>>(declaration: O): O => declaration;

/**
 * All options of the server. `drain-timeout` is `--drain-timeout` as a flag, `JOUST_DRAIN_TIMEOUT` in the
 * environment and `drain-timeout` in the TOML file. Parsing, help and error messages derive from this table.
 */
export const serverOptions = {
  root: option({
    type: text("ROOT"),
    fallback: "./joust-data",
    help: "directory or s3://, gs://, az:// URI of the tables",
  }),
  host: option({ type: text("HOST"), fallback: "127.0.0.1", help: "address to listen on" }),
  port: option({
    type: integer(0, 65535),
    fallback: "2333",
    help: "port to listen on; 0 selects a free port",
  }),
  "sql-port": option({
    type: integer(0, 65535),
    help: "port of Flight SQL; 0 disables it; default: the port after --port, or a free one if --port is 0",
  }),
  http: option({
    type: choice(["auto", "uws", "node"]),
    fallback: "auto",
    help: "HTTP transport: uWebSockets.js (uws), Node's http module (node), or uws if its version 20.57 loads and node otherwise (auto)",
  }),
  "tls-cert": option({
    type: text("FILE"),
    help: "PEM file with the certificate chain for HTTPS; reloaded on SIGHUP and after a change",
  }),
  "tls-key": option({
    type: text("FILE"),
    help: "PEM file with the private key of --tls-cert",
  }),
  auth: option({
    type: choice(["keys", "none"]),
    fallback: "keys",
    help: "authentication: API keys, or none (only on loopback addresses)",
  }),
  "oidc-issuer": option({
    type: providerUrl,
    help: "OpenID Connect issuer whose tokens (JWT) are accepted beside API keys",
  }),
  "oidc-audience": option({
    type: text("NAME"),
    repeatable: true,
    help: "audience that a token must name; required with --oidc-issuer",
  }),
  "oidc-jwks": option({
    type: providerUrl,
    help: "URL of the key set (JWKS) of the issuer; default: the one in its /.well-known/openid-configuration",
  }),
  "oidc-groups-claim": option({
    type: text("CLAIM"),
    help: "claim, or path such as realm_access.roles, that has the groups of a user; default: groups",
  }),
  "oidc-name-claim": option({
    type: text("CLAIM"),
    help: "claim with the name of a user for logs and messages; default: email, else sub",
  }),
  "oidc-roles": option({
    type: groupRoles,
    help: "roles of groups, such as analysts=read,ops=admin; a user without such a group has the role none",
  }),
  "oidc-clock-skew": option({
    type: duration,
    help: "maximum difference between the clocks of the issuer and of this server; default: 30s",
  }),
  "cors-origins": option({
    type: origins,
    repeatable: true,
    help: "origins whose web pages may call this server, such as https://app.example, or * for all; default: none",
  }),
  "allowed-host": option({
    type: hostName,
    repeatable: true,
    help: "another host name of this server, whose web pages may send requests; only with --auth none",
  }),
  "api-key": option({
    type: text("KEY"),
    help: "an admin key that is not stored in the catalog; as a flag it is visible in the process list",
  }),
  "api-key-file": option({
    type: text("FILE"),
    help: "file whose only line is the admin key of --api-key",
  }),
  "catalog-key": option({
    type: text("KEY"),
    help: "key that encrypts the secrets in the catalog: 32 bytes in base64; as a flag it is visible in the process list",
  }),
  "catalog-key-file": option({
    type: text("FILE"),
    help: "file whose first line is the key of --catalog-key; keys on further lines only decrypt",
  }),
  "lancedb-databases": option({
    type: choice(["existing", "required", "ignored"]),
    fallback: "existing",
    help: "what db://NAME of a LanceDB SDK selects: the namespace NAME if the root has or had one, else the root (existing); always the namespace (required); always the root (ignored)",
  }),
  limits: option({
    type: text("FILE"),
    help: "YAML or JSON file with limits of callers and namespaces; reloaded on SIGHUP and after a change",
  }),
  "log-level": option({
    type: choice(logLevels),
    fallback: "info",
    help: "minimum level of the JSON log lines on stderr; debug logs every request",
  }),
  "audit-log": option({
    type: text("FILE"),
    help: "file to which the server writes a JSON line for each request: caller, operation, result; reopened on SIGHUP",
  }),
  "audit-log-table": option({
    type: choice(["off", "on"]),
    fallback: "off",
    help: "whether to also write the lines of --audit-log to the Lance table _audit/log.lance in the root",
  }),
  "audit-log-size": option({
    type: size,
    fallback: "100MiB",
    help: "size at which the server renames the file of --audit-log to FILE.1 and starts a new one; at least 64KiB",
  }),
  "audit-log-files": option({
    type: integer(1, 1000),
    fallback: "10",
    help: "number of renamed --audit-log files to keep",
  }),
  catalog: option({
    type: text("URL|FILE"),
    help: "postgres:// URL or SQLite file of the catalog; default: ROOT/.joust/catalog.db, or ./joust-catalog.db for a remote ROOT",
  }),
  "max-json-bytes": option({
    type: size,
    fallback: "16MiB",
    help: "size limit of a JSON body",
  }),
  "max-upload-bytes": option({
    type: size,
    fallback: "0",
    help: "size limit of an Arrow body; 0 is no limit",
  }),
  "follow-links": option({
    type: choice(["always", "never"]),
    fallback: "always",
    help: "whether to serve a Lance table that a symbolic link in ROOT points to",
  }),
  durability: option({
    type: choice(["synced", "os"]),
    fallback: "synced",
    help: "what an acknowledged write to a local disk survives: a power failure (synced) or a process crash (os)",
  }),
  maintenance: option({
    type: choice(["on", "off"]),
    fallback: "on",
    help: "compact tables, optimize indices and remove old versions in the background",
  }),
  "keep-versions": option({
    type: duration,
    fallback: "7d",
    help: "how long to keep old versions that no tag and no branch refers to",
  }),
  "auto-refresh-interval": option({
    type: duration,
    fallback: "60s",
    help: "interval of the automatic refreshes of columns and views that declare none",
  }),
  memory: option({
    type: memory,
    fallback: "60%",
    help: "memory budget of the process, as a size or a percentage of the memory of the machine or its cgroup",
  }),
  "index-cache": option({
    type: size,
    help: "part of --memory for cached index data; default: a quarter",
  }),
  "metadata-cache": option({
    type: size,
    help: "part of --memory for cached manifests, schemas and file metadata; default: a sixteenth",
  }),
  "row-cache": option({
    type: size,
    help: "part of --memory for cached rows and vectors; 0 disables the cache; default: an eighth",
  }),
  staleness: option({
    type: duration,
    help: "maximum age of cached data of a table in an object store; 0 checks the store for each request",
  }),
  "query-timeout": option({
    type: duration,
    fallback: "5m",
    help: "time limit of a query, a count or a plan, without the time to send the result; 0 is no limit",
  }),
  "request-timeout": option({
    type: duration,
    fallback: "0",
    help: "time limit of a request until its reply begins; a request that exceeds it gets 504; 0 is no limit",
  }),
  "view-timeout": option({
    type: duration,
    fallback: "1h",
    help: "time limit of a view refresh without a function; 0 is no limit",
  }),
  "view-disk": option({
    type: size,
    fallback: "10GiB",
    help: "size limit of the temporary files (in TMPDIR) of a view refresh or a SQL statement",
  }),
  prewarm: option({
    type: table,
    repeatable: true,
    help: "table (NAMESPACE$TABLE) to load into the caches at the start; /readyz returns 503 until then",
  }),
  "cpu-threads": option({
    type: integer(1, 1024),
    help: "number of compute threads; default: one per core",
  }),
  "http-threads": option({
    type: integer(1, 64),
    fallback: "1",
    help: "number of threads that serve HTTP requests (more than 1 only on Linux)",
  }),
  "storage-option": option({
    type: pair,
    repeatable: true,
    help: "option of the object store, such as aws_endpoint=http://localhost:9000",
  }),
  "vend-role": option({
    type: roleArn,
    help: "AWS role that the server assumes to give clients temporary credentials for the files of one table (vend_credentials)",
  }),
  "vend-endpoint": option({
    type: providerUrl,
    help: "address of the STS server of --vend-role and --ray-vend-role; default: the STS server of AWS in the region of the bucket",
  }),
  "vend-lifetime": option({
    type: duration,
    fallback: "1h",
    help: "lifetime of the credentials of --vend-role and --ray-vend-role, from 15m to 12h",
  }),
  functions: option({
    type: choice(["off", "subprocess", "ray"]),
    fallback: "off",
    help: "where Python functions run: nowhere (off), in child processes with the file permissions of the server (subprocess), or on the Ray cluster of --executor ray (ray)",
  }),
  python: option({
    type: text("PATH"),
    fallback: "python3",
    help: "Python interpreter for --functions; it needs the package pyarrow and the packages that functions import",
  }),
  "function-workers": option({
    type: integer(1, 1024),
    fallback: "2",
    help: "number of processes that run functions at the same time",
  }),
  "function-memory": option({
    type: size,
    fallback: "2GiB",
    help: "memory limit of each process that runs a function",
  }),
  "function-timeout": option({
    type: duration,
    fallback: "60s",
    help: "time limit of one call of a function; the server adapts the number of rows of a call to the speed of the function",
  }),
  "function-cpu-time": option({
    type: duration,
    fallback: "5m",
    help: "CPU time limit of one call of a function, rounded to seconds",
  }),
  "function-network": option({
    type: choice(["off", "on"]),
    fallback: "off",
    help: "whether functions can use the network; off needs Linux namespaces, and the server logs a warning if they are missing",
  }),
  "function-env": option({
    type: pair,
    repeatable: true,
    help: "environment variable of the processes that run functions; they inherit none from the server",
  }),
  executor: option({
    type: choice(["local", "ray"]),
    fallback: "local",
    help: "executor of heavy jobs: this server (local) or a Ray cluster (ray); ray runs large compactions, index builds and view refreshes, and with --functions ray all functions",
  }),
  "ray-address": option({
    type: httpUrl,
    help: "address of the Jobs API of the Ray cluster, such as http://ray-head:8265",
  }),
  "ray-token-file": option({
    type: text("FILE"),
    help: "file with the token of the Ray cluster; read for each request",
  }),
  "ray-ca-file": option({
    type: text("FILE"),
    help: "PEM file with the CA certificates for --ray-address; default: the CA certificates of Node",
  }),
  "ray-server-url": option({
    type: httpUrl,
    help: "address at which Ray workers reach this server, and no other server of its cluster",
  }),
  "ray-min-bytes": option({
    type: size,
    fallback: "1GiB",
    help: "minimum size of the files that a job reads for it to run on Ray; smaller jobs run in this server, except those that call functions",
  }),
  "ray-cpus": option({
    type: amount,
    fallback: "1",
    help: "number of CPUs that Ray reserves for each task",
  }),
  "ray-gpus": option({
    type: amount,
    fallback: "0",
    help: "number of GPUs that Ray reserves for each task that calls a function",
  }),
  "ray-storage-option": option({
    type: pair,
    repeatable: true,
    help: "option of the object store for Ray workers; they then get no --storage-option of the server",
  }),
  "ray-vend-role": option({
    type: roleArn,
    help: "AWS role that the server assumes to give Ray workers temporary credentials to read the tables of a job and to write new files of its table",
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

/** The values of all options. */
export type OptionValues = { [Name in OptionName]: ValueOf<(typeof serverOptions)[Name]> };
