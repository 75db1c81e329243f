import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parse, TomlError } from "smol-toml";
import { ConfigError, type Option } from "./option.js";
import { type OptionName, serverOptions } from "./options.js";

/** The texts of options in one source: flags, environment or file. */
export interface OptionSource {
  /** The values of an option; undefined if the source does not set it. */
  get(name: OptionName): readonly string[] | undefined;
  /** The name of an option in error messages: `--port`, `JOUST_PORT`, `port in joust.toml`. */
  label(name: OptionName): string;
}

const names = Object.keys(serverOptions) as OptionName[];
const isName = (text: string): text is OptionName => (names as string[]).includes(text);
const isRepeatable = (name: OptionName): boolean =>
  (serverOptions[name] as Option<unknown>).repeatable === true;

/** The command line: `--name value`, `--name=value`, and ROOT without a flag. */
export function flagSource(
  args: readonly string[],
): OptionSource & { readonly configFile?: string } {
  const values = new Map<string, string[]>();
  const add = (name: string, value: string, label: string) => {
    const previous = values.get(name);
    if (previous && !(isName(name) && isRepeatable(name))) {
      throw new ConfigError(`${label} is given twice: give it once`);
    }
    values.set(name, [...(previous ?? []), value]);
  };
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as string;
    if (!arg.startsWith("-")) {
      add("root", arg, "ROOT");
      continue;
    }
    const equals = arg.indexOf("=");
    const flag = equals < 0 ? arg : arg.slice(0, equals);
    const name = flag.slice(2);
    if (!flag.startsWith("--") || !(isName(name) || name === "config")) {
      throw new ConfigError(
        `${flag} is not an option${suggestionFor(flag.replace(/^-+/, ""), "--")}`,
      );
    }
    const value = equals < 0 ? args[++at] : arg.slice(equals + 1);
    if (value === undefined) throw new ConfigError(`${flag} needs a value`);
    add(name, value, flag);
  }
  const configFile = values.get("config")?.[0];
  return {
    get: (name) => values.get(name),
    label: (name) => `--${name}`,
    ...(configFile !== undefined && { configFile }),
  };
}

/** The environment: `JOUST_` and the name in capitals. Commas separate several values. An empty variable is ignored. */
export function environmentSource(env: Readonly<Record<string, string | undefined>>): OptionSource {
  const label = (name: OptionName) => `JOUST_${name.toUpperCase().replaceAll("-", "_")}`;
  return {
    label,
    get(name) {
      const value = env[label(name)];
      if (value === undefined || value === "") return undefined;
      return isRepeatable(name) ? value.split(",") : [value];
    },
  };
}

/**
 * A TOML file with one key per option; `storage-option` is a table. The default file is `joust.toml` in
 * the working directory. If that file does not exist, the result is undefined.
 */
export function fileSource(cwd: string, named: string | undefined): OptionSource | undefined {
  const file = named ?? "joust.toml";
  const text = read(resolve(cwd, file), named);
  if (text === undefined) return undefined;
  const values = new Map<string, string[]>();
  for (const [key, value] of Object.entries(parseToml(text, file))) {
    if (!isName(key))
      throw new ConfigError(`${key} in ${file} is not an option${suggestionFor(key, "")}`);
    values.set(key, texts(value, `${key} in ${file}`, isRepeatable(key)));
  }
  return { get: (name) => values.get(name), label: (name) => `${name} in ${file}` };
}

function read(path: string, named: string | undefined): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (named === undefined && code === "ENOENT") return undefined;
    throw new ConfigError(
      `the configuration file ${named ?? "joust.toml"} cannot be read (${code})`,
    );
  }
}

function parseToml(text: string, file: string): Record<string, unknown> {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const reason = error.message.split("\n")[0]?.replace("Invalid TOML document: ", "");
    throw new ConfigError(`${file} is not TOML, line ${error.line}: ${reason}`);
  }
}

function texts(value: unknown, label: string, repeatable: boolean): string[] {
  if (repeatable && Array.isArray(value)) return value.map((one) => scalar(one, label));
  if (repeatable && value !== null && typeof value === "object") {
    return Object.entries(value).map(([key, one]) => `${key}=${scalar(one, label)}`);
  }
  return [scalar(value, label)];
}

function scalar(value: unknown, label: string): string {
  if (typeof value === "object") throw new ConfigError(`${label} must be a string or a number`);
  return String(value);
}

/** The most similar option name, or all names if none is similar. */
function suggestionFor(text: string, prefix: string): string {
  const normalized = text.replaceAll("_", "-");
  const closest = names
    .map((name) => ({
      name,
      distance: editDistance(normalized, name) - (name[0] === normalized[0] ? 0.5 : 0),
    }))
    .sort((a, b) => a.distance - b.distance)[0];
  if (closest && closest.distance <= 3) return `: did you mean ${prefix}${closest.name}?`;
  return `; options are ${names.map((name) => prefix + name).join(", ")}`;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
