import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { ConfigError } from "./option.js";

/** The text of a file with keys, which an option names. @throws ConfigError if it cannot be read */
export function readKeyFile(option: string, file: string, cwd: string): string {
  try {
    return readFileSync(resolve(cwd, file), "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(`the file ${file} of ${option} cannot be read (${code})`);
  }
}
