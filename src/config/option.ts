import { isIPv6 } from "node:net";
import { machineMemory } from "./machine-memory.js";

/** Raised for anything wrong with flags, environment or file; its text is for the operator. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** How the text of an option is read. `parse` throws with what would be right. */
export interface OptionType<T> {
  /** As the help shows it; "" for a switch. */
  readonly placeholder: string;
  parse(text: string): T;
}

/** One option: its flag, environment variable and TOML key follow from its name. */
export interface Option<T> {
  readonly type: OptionType<T>;
  readonly help: string;
  /** Text as it could be given, shown in the help; none: the option may be absent. */
  readonly fallback?: string;
  /** May be given more than once; the values are collected. */
  readonly repeatable?: true;
}

const invalid = (right: string, text: string): ConfigError =>
  new ConfigError(`must be ${right}, got "${text}"`);

export const text = (placeholder: string): OptionType<string> => ({
  placeholder,
  parse(text) {
    if (text === "") throw invalid("not empty", text);
    return text;
  },
});

/** A host's name or address, as it stands before the port. */
export const hostName: OptionType<string> = {
  placeholder: "HOST",
  parse(text) {
    const name = text.replace(/^\[(.*)\]$/, "$1");
    if (!isIPv6(name) && !/^[\w.-]+$/.test(name)) {
      throw invalid("a host's name without scheme and port, such as tables.example", text);
    }
    return name;
  },
};

export const choice = <const T extends string>(values: readonly T[]): OptionType<T> => ({
  placeholder: values.join("|"),
  parse(text) {
    const value = values.find((one) => one === text);
    if (value === undefined) throw invalid(`one of ${values.join(", ")}`, text);
    return value;
  },
});

export const integer = (min: number, max: number): OptionType<number> => ({
  placeholder: "N",
  parse(text) {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw invalid(`an integer from ${min} to ${max}`, text);
    }
    return value;
  },
});

const sizes: Readonly<Record<string, number>> = {
  "": 1,
  k: 2 ** 10,
  m: 2 ** 20,
  g: 2 ** 30,
  t: 2 ** 40,
};

/** Bytes that a server can work with. */
const leastMemory = 256 * 2 ** 20;

/** Bytes: `4096`, `512KiB`, `16MiB`, `2GiB` (also `16m`). */
export const size: OptionType<number> = {
  placeholder: "SIZE",
  parse(text) {
    const parts = /^(\d+(?:\.\d+)?) ?(?:([kmgt])(?:i?b)?|b)?$/i.exec(text);
    if (!parts) throw invalid("a size such as 512MiB", text);
    return Math.round(Number(parts[1]) * (sizes[(parts[2] ?? "").toLowerCase()] ?? 1));
  },
};

/** Bytes, given so or as a part of what the machine, or the container that this runs in, has: `60%`. */
export const memory: OptionType<number> = {
  placeholder: "SIZE|PERCENT",
  parse(text) {
    const part = /^(\d+(?:\.\d+)?) ?%$/.exec(text);
    if (!part && !/^[\d.]+ ?[a-z]*$/i.test(text)) {
      throw invalid("a size such as 4GiB or a part such as 60%", text);
    }
    if (Number(part?.[1]) > 100) throw invalid("at most 100%", text);
    const bytes = part ? (machineMemory() * Number(part[1])) / 100 : size.parse(text);
    if (bytes < leastMemory) throw invalid(`at least ${leastMemory / 2 ** 20}MiB`, text);
    return Math.floor(bytes);
  },
};

const units: Readonly<Record<string, number>> = {
  "": 1,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Milliseconds: `250`, `250ms`, `30s`, `5m`, `36h`, `7d`. */
export const duration: OptionType<number> = {
  placeholder: "TIME",
  parse(text) {
    const parts = /^(\d+(?:\.\d+)?) ?(ms|s|m|h|d)?$/.exec(text);
    if (!parts) throw invalid("a time such as 500ms, 30s or 7d", text);
    return Math.round(Number(parts[1]) * (units[parts[2] ?? ""] ?? 1));
  },
};

/** A table's identifier, its components joined by `$`. */
export const table: OptionType<readonly string[]> = {
  placeholder: "TABLE",
  parse(text) {
    const id = text.split("$");
    if (id.includes(""))
      throw invalid("a table's name, after its namespaces and `$` if it has any", text);
    return id;
  },
};

export const pair: OptionType<readonly [string, string]> = {
  placeholder: "KEY=VALUE",
  parse(text) {
    const at = text.indexOf("=");
    if (at < 1) throw invalid("of the form key=value", text);
    return [text.slice(0, at), text.slice(at + 1)];
  },
};
