import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { ConfigError } from "./option.js";

/** The admin key that is given, as it is or in a file; undefined for neither. @throws ConfigError for both */
export function apiKeyOf(
  key: string | undefined,
  file: string | undefined,
  cwd: string,
): string | undefined {
  if (file === undefined) return key;
  if (key !== undefined) {
    throw new ConfigError("--api-key and --api-key-file are both given: give one of them");
  }
  const held = read(resolve(cwd, file), file).replace(/\r?\n$/, "");
  if (!/^[!-~]+$/.test(held)) {
    throw new ConfigError(
      `the file ${file} of --api-key-file must hold a key on its only line: ASCII characters without spaces`,
    );
  }
  return held;
}

function read(path: string, given: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(`the file ${given} of --api-key-file cannot be read (${code})`);
  }
}
