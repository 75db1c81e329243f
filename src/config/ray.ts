import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type FunctionLimits, functionLimits } from "./functions.js";
import { readKeyFile } from "./key-file.js";
import { ConfigError, type OptionType } from "./option.js";
import type { OptionName, OptionValues } from "./options.js";
import { type VendingSettings, vendingOf } from "./vending.js";

/** The Ray cluster that runs jobs. */
export interface RaySettings {
  /** The address of its Jobs API, without a slash at the end. */
  readonly address: string;
  /** Absolute path of the file with its token. It is read for each request, so the token may change. */
  readonly tokenFile?: string;
  /** Certificates in PEM that the Jobs API must be signed by, in place of those of Node. */
  readonly ca?: string;
  /** The address at which workers reach this server, without a slash at the end. */
  readonly serverUrl: string;
  /** Whether it calls the Python functions of columns. */
  readonly runsFunctions: boolean;
  /** Jobs that read fewer bytes of files run in the server, except those that call functions. */
  readonly minBytes: number;
  /** Of each task. */
  readonly cpus: number;
  readonly gpus: number;
  /** Options of the object store for workers, in place of those of the server. */
  readonly storageOptions?: Readonly<Record<string, string>>;
  /** How workers get temporary credentials. Without it they get the options of the store as they are. */
  readonly vending?: VendingSettings;
  /** Of the processes that call functions. */
  readonly limits: FunctionLimits;
}

/** Processors or graphics processors of a task. Tasks may share one. */
export const amount: OptionType<number> = {
  placeholder: "N",
  parse(text) {
    const value = Number(text);
    if (!/^\d+(\.\d+)?$/.test(text) || value > 1_024 || (value > 1 && !Number.isInteger(value))) {
      throw new Error(`must be a part of 1, or an integer up to 1024, got ${JSON.stringify(text)}`);
    }
    return value;
  },
};

/** The address of an HTTP server. */
export const httpUrl: OptionType<string> = {
  placeholder: "URL",
  parse(text) {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
    if (!url || !isHttp || url.username !== "" || url.search !== "" || url.hash !== "") {
      throw new Error(
        `must be an http:// or https:// URL without query, fragment and user, got ${JSON.stringify(text)}`,
      );
    }
    return text.replace(/\/+$/, "");
  },
};

const RAY_ONLY = [
  "ray-address",
  "ray-token-file",
  "ray-ca-file",
  "ray-server-url",
  "ray-vend-role",
] as const satisfies readonly OptionName[];

/** Undefined without `--executor ray`. @throws ConfigError for options that exclude each other */
export function rayOf(values: OptionValues, root: string, cwd: string): RaySettings | undefined {
  if (values.executor === "local") {
    if (values.functions === "ray") {
      throw new ConfigError("--functions ray needs --executor ray: Ray runs the whole job");
    }
    const given = RAY_ONLY.find((name) => values[name] !== undefined);
    if (given !== undefined) throw new ConfigError(`--${given} needs --executor ray`);
    return undefined;
  }
  const { "ray-address": address, "ray-server-url": serverUrl } = values;
  if (address === undefined || serverUrl === undefined) {
    throw new ConfigError(
      "--executor ray needs --ray-address, the address of the Jobs API such as http://ray-head:8265, and --ray-server-url, the address of this server for the workers of Ray",
    );
  }
  const { "ray-token-file": tokenFile, "ray-ca-file": caFile } = values;
  if (tokenFile !== undefined) readKeyFile("--ray-token-file", tokenFile, cwd);
  const options = values["ray-storage-option"];
  const vending = vendingOf("ray-vend-role", values, root);
  return {
    address,
    serverUrl,
    runsFunctions: values.functions === "ray",
    minBytes: values["ray-min-bytes"],
    cpus: values["ray-cpus"],
    gpus: values["ray-gpus"],
    limits: functionLimits(values),
    ...(tokenFile !== undefined && { tokenFile: resolve(cwd, tokenFile) }),
    ...(caFile !== undefined && { ca: readKeyFile("--ray-ca-file", caFile, cwd) }),
    ...(vending && { vending }),
    ...(options.length > 0 && { storageOptions: Object.fromEntries(options) }),
  };
}

/** The token of the cluster; undefined without one. @throws Error if the file cannot be read */
export const rayToken = ({ tokenFile }: Pick<RaySettings, "tokenFile">): string | undefined =>
  tokenFile === undefined ? undefined : readFileSync(tokenFile, "utf8").trim();
