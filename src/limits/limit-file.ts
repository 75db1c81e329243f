import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { basename } from "node:path";
import { parseDocument } from "yaml";
import { ConfigError, size } from "../config/option.js";
import {
  type LimitEntries,
  type LimitEntry,
  type LimitName,
  type LimitRules,
  limitNames,
  type Rate,
} from "./limit-rules.js";

type Members = Readonly<Record<string, unknown>>;

/** The budget of unauthenticated requests if the file sets none, requests per second. */
const UNAUTHENTICATED = {
  total: { perSecond: 100, burst: 200 },
  perAddress: { perSecond: 5, burst: 20 },
} as const;

/** Seconds of uploads that a caller may send at once if the file sets no burst. */
const UPLOAD_BURST_SECONDS = 10;

/** The largest rates and counts: sums of them stay exact. */
const MOST = 1e15;

/** The lowest rate, per second: one in eleven days. */
const LEAST_RATE = 1e-6;

/** Reads and checks a limits file. @throws ConfigError with one sentence that says what would be right */
export function readLimitFile(file: string): LimitRules {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(`the file ${basename(file)} of --limits cannot be read (${code})`);
  }
  return parseLimits(text, basename(file));
}

/** Parses the text of a limits file: YAML, of which JSON is a part. @throws ConfigError */
export function parseLimits(text: string, file: string): LimitRules {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error) {
    const reason = error.message.split("\n")[0]?.replace(/:$/, "");
    throw new ConfigError(`${file} is neither YAML nor JSON: ${reason}`);
  }
  const content = membersOf(document.toJS() ?? {}, file, file, [
    "defaults",
    "keys",
    "users",
    "groups",
    "roles",
    "namespaces",
    "unauthenticated",
  ]);
  const at = (name: string) => `${name} in ${file}`;
  const defaults = membersOf(content.defaults ?? {}, at("defaults"), file, ["caller", "namespace"]);
  return {
    defaults: {
      caller: entry(defaults.caller ?? {}, "defaults.caller", file),
      namespace: entry(defaults.namespace ?? {}, "defaults.namespace", file),
    },
    keys: entries(content.keys, "keys", file),
    users: entries(content.users, "users", file),
    groups: entries(content.groups, "groups", file),
    roles: entries(content.roles, "roles", file),
    namespaces: entries(content.namespaces, "namespaces", file),
    unauthenticated: unauthenticated(content.unauthenticated ?? {}, file),
  };
}

/** An object with only the named members. */
function membersOf(value: unknown, label: string, file: string, names: readonly string[]): Members {
  const members = objectOf(value, label);
  const unknown = Object.keys(members).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    const owner = label === file ? file : `${label}`;
    throw new ConfigError(`${owner} has the member ${unknown}; members are ${names.join(", ")}`);
  }
  return members;
}

function objectOf(value: unknown, label: string): Members {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Members;
  throw new ConfigError(`${label} must be an object, got ${JSON.stringify(value)}`);
}

function entries(value: unknown, section: string, file: string): LimitEntries {
  const members = objectOf(value ?? {}, `${section} in ${file}`);
  return Object.fromEntries(
    Object.entries(members).map(([name, limits]) => [
      name,
      entry(limits, `${section}.${name}`, file),
    ]),
  );
}

function entry(value: unknown, path: string, file: string): LimitEntry {
  const members = membersOf(value ?? {}, `${path} in ${file}`, file, limitNames);
  const limits: Partial<Record<LimitName, number | null>> = {};
  for (const name of limitNames) {
    if (members[name] === undefined) continue;
    limits[name] = limitValue(name, members[name], `${path}.${name} in ${file}`);
  }
  addBurst(limits, "requests_per_second", "burst", (rate) => Math.max(1, Math.ceil(rate)));
  addBurst(limits, "upload_bytes_per_second", "upload_burst_bytes", (rate) =>
    Math.ceil(rate * UPLOAD_BURST_SECONDS),
  );
  for (const [burst, rate] of [
    ["burst", "requests_per_second"],
    ["upload_burst_bytes", "upload_bytes_per_second"],
  ] as const) {
    if (limits[burst] === undefined || limits[rate] !== undefined) continue;
    throw new ConfigError(`${path}.${burst} in ${file} needs ${rate} beside it`);
  }
  return limits;
}

/** An entry that sets a rate sets its burst too, so that it does not inherit the burst of another rate. */
function addBurst(
  limits: Partial<Record<LimitName, number | null>>,
  rate: LimitName,
  burst: LimitName,
  fallback: (rate: number) => number,
): void {
  const perSecond = limits[rate];
  if (perSecond === undefined) return;
  if (perSecond === null) limits[burst] = null;
  else limits[burst] ??= fallback(perSecond);
}

/** `null` is no limit. */
function limitValue(name: LimitName, value: unknown, label: string): number | null {
  if (value === null) return null;
  if (name === "requests_per_second") return rateOf(value, label);
  const isBytes = name.includes("bytes");
  const parsed = isBytes && typeof value === "string" ? bytesOf(value, label) : value;
  const least = name === "burst" || name.startsWith("upload") ? 1 : 0;
  const isValid =
    typeof parsed === "number" && Number.isInteger(parsed) && parsed >= least && parsed <= MOST;
  if (isValid) return parsed;
  const what = isBytes ? "a number of bytes, or a size such as 10GiB," : "an integer";
  throw new ConfigError(
    `${label} must be ${what} of at least ${least}, or null for no limit, got ${JSON.stringify(value)}`,
  );
}

function rateOf(value: unknown, label: string): number {
  if (typeof value === "number" && value >= LEAST_RATE && value <= MOST) return value;
  throw new ConfigError(
    `${label} must be a number of at least ${LEAST_RATE}, or null for no limit, got ${JSON.stringify(value)}`,
  );
}

function bytesOf(text: string, label: string): number {
  try {
    return size.parse(text);
  } catch (error) {
    throw new ConfigError(`${label} ${(error as Error).message}`);
  }
}

function unauthenticated(value: unknown, file: string): LimitRules["unauthenticated"] {
  const path = "unauthenticated";
  const label = `${path} in ${file}`;
  const names = ["requests_per_second", "burst", "per_address", "trusted_proxies"];
  const { per_address, trusted_proxies, ...total } = membersOf(value, label, file, names);
  return {
    total: budget(total, path, file, UNAUTHENTICATED.total),
    perAddress: budget(
      membersOf(per_address ?? {}, `${path}.per_address in ${file}`, file, [
        "requests_per_second",
        "burst",
      ]),
      `${path}.per_address`,
      file,
      UNAUTHENTICATED.perAddress,
    ),
    trustedProxies: proxies(trusted_proxies ?? [], `${path}.trusted_proxies in ${file}`),
  };
}

function budget(members: Members, path: string, file: string, fallback: Rate): Rate {
  const limits = entry(members, path, file);
  const perSecond = limits.requests_per_second;
  if (perSecond === undefined) return fallback;
  if (perSecond === null) {
    throw new ConfigError(`${path}.requests_per_second in ${file} must be a number, got null`);
  }
  return { perSecond, burst: limits.burst ?? fallback.burst };
}

function proxies(value: unknown, label: string): string[] {
  const isBlock = (one: unknown): one is string => {
    const [address = "", bits, ...rest] = typeof one === "string" ? one.split("/") : [];
    const most = isIP(address) === 4 ? 32 : 128;
    const hasBits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most);
    return isIP(address) !== 0 && hasBits && rest.length === 0;
  };
  if (Array.isArray(value) && value.every(isBlock)) return value;
  throw new ConfigError(
    `${label} must be a list of addresses and CIDR blocks, such as 10.0.0.0/8, got ${JSON.stringify(value)}`,
  );
}
