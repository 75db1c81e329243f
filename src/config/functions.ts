import { isAbsolute, resolve } from "node:path";
import { ConfigError } from "./option.js";
import type { OptionValues } from "./options.js";

/** The limits of a process that runs a function. */
export interface FunctionLimits {
  /** Memory of each process, bytes. */
  readonly memoryBytes: number;
  /** How long one call of a function may take, ms. */
  readonly callTimeoutMs: number;
  /** How much time of all processors one call of a function may take, ms. */
  readonly cpuTimeMs: number;
  /** Functions reach the network. */
  readonly network: boolean;
  /** The environment of the processes, beside PATH, HOME, TMPDIR and LANG. */
  readonly environment: Readonly<Record<string, string>>;
}

/** How the server runs the Python functions of virtual columns in processes of its own. */
export interface FunctionSettings extends FunctionLimits {
  /** The Python interpreter: an absolute path, or a name in the PATH. */
  readonly python: string;
  /** The most processes at the same time. */
  readonly workers: number;
}

/** A process needs about this much for Python and pyarrow, bytes. */
const LEAST_MEMORY = 128 * 2 ** 20;

/** Undefined if the server runs no functions in processes of its own. @throws ConfigError for limits with which no function runs */
export function functionsOf(
  values: OptionValues,
  cwd: string,
  platform: NodeJS.Platform,
): FunctionSettings | undefined {
  if (values.functions !== "subprocess") return undefined;
  if (platform === "win32") {
    throw new ConfigError(
      "--functions must be off on Windows: joust cannot limit the processes of functions there",
    );
  }
  const { python } = values;
  return {
    ...functionLimits(values),
    // A path is relative to the working directory, as elsewhere. A name is looked up in the PATH.
    python: python.includes("/") && !isAbsolute(python) ? resolve(cwd, python) : python,
    workers: values["function-workers"],
  };
}

/** @throws ConfigError for limits with which no function runs */
export function functionLimits(values: OptionValues): FunctionLimits {
  if (values["function-memory"] < LEAST_MEMORY) {
    throw new ConfigError("--function-memory must be at least 128MiB");
  }
  for (const name of ["function-timeout", "function-cpu-time"] as const) {
    if (values[name] < 1_000) throw new ConfigError(`--${name} must be at least 1s`);
  }
  return {
    memoryBytes: values["function-memory"],
    callTimeoutMs: values["function-timeout"],
    cpuTimeMs: values["function-cpu-time"],
    network: values["function-network"] === "on",
    environment: Object.fromEntries(values["function-env"]),
  };
}
