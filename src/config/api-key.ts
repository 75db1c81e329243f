import { readKeyFile } from "./key-file.js";
import { ConfigError } from "./option.js";

/** The admin key of --api-key or --api-key-file; undefined without both. @throws ConfigError if both are set */
export function apiKeyOf(
  key: string | undefined,
  file: string | undefined,
  cwd: string,
): string | undefined {
  if (file === undefined) return key;
  if (key !== undefined) {
    throw new ConfigError("--api-key and --api-key-file are both given: give only one of them");
  }
  const content = readKeyFile("--api-key-file", file, cwd).replace(/\r?\n$/, "");
  if (!/^[!-~]+$/.test(content)) {
    throw new ConfigError(
      `the file ${file} of --api-key-file must contain a key on its only line: ASCII characters without spaces`,
    );
  }
  return content;
}
