import { isIPv6 } from "node:net";
import ms from "ms";
import { machineMemory } from "./machine-memory.js";

/** An error in the flags, the environment or the file. The message is for the operator. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** How to parse the text of an option. `parse` throws a ConfigError that describes a valid value. */
export interface OptionType<T> {
  /** The value in the help text. */
  readonly placeholder: string;
  parse(text: string): T;
}

/** One option. Its flag, its environment variable and its TOML key derive from its name. */
export interface Option<T> {
  readonly type: OptionType<T>;
  readonly help: string;
  /** The default value as text, shown in the help. Without it the option may be absent. */
  readonly fallback?: string;
  /** The option may occur several times, and its values form a list. */
  readonly repeatable?: true;
}

const invalid = (expected: string, text: string): ConfigError =>
  new ConfigError(`must be ${expected}, got "${text}"`);

export const text = (placeholder: string): OptionType<string> => ({
  placeholder,
  parse(text) {
    if (text === "") throw invalid("not empty", text);
    return text;
  },
});

/** A host name or address without a port. */
export const hostName: OptionType<string> = {
  placeholder: "HOST",
  parse(text) {
    const name = text.replace(/^\[(.*)\]$/, "$1");
    if (!isIPv6(name) && !/^[\w.-]+$/.test(name)) {
      throw invalid("a host name without scheme and port, such as tables.example", text);
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

/** The least memory that a server works with, bytes. */
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

/** Bytes, or a percentage of the memory of the machine or the container: `60%`. */
export const memory: OptionType<number> = {
  placeholder: "SIZE|PERCENT",
  parse(text) {
    const part = /^(\d+(?:\.\d+)?) ?%$/.exec(text);
    if (!part && !/^[\d.]+ ?[a-z]*$/i.test(text)) {
      throw invalid("a size such as 4GiB or a percentage such as 60%", text);
    }
    if (Number(part?.[1]) > 100) throw invalid("at most 100%", text);
    const bytes = part ? (machineMemory() * Number(part[1])) / 100 : size.parse(text);
    if (bytes < leastMemory) throw invalid(`at least ${leastMemory / 2 ** 20}MiB`, text);
    return Math.floor(bytes);
  },
};

/** Milliseconds: `250`, `250ms`, `30s`, `5m`, `36h`, `7d`. */
export const duration: OptionType<number> = {
  placeholder: "TIME",
  parse(text) {
    // `ms` alone would also accept `-5s`, `1y` and `2 days`.
    if (!/^\d{1,30}(?:\.\d{1,30})? ?(?:ms|s|m|h|d)?$/.test(text)) {
      throw invalid("a time such as 500ms, 30s or 7d", text);
    }
    return Math.round(ms(text as ms.StringValue));
  },
};

/** The identifier of a table: its components, joined by `$`. */
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
