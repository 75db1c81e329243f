import { readKeyFile } from "./key-file.js";
import { ConfigError } from "./option.js";

const BYTES = 32;

/**
 * The keys that encrypt the secrets in the catalog, as bytes: the first one encrypts, the others only decrypt. Undefined
 * without one.
 *
 * @throws ConfigError for an invalid key, or if both are set
 */
export function catalogKeysOf(
  key: string | undefined,
  file: string | undefined,
  cwd: string,
): readonly Uint8Array[] | undefined {
  if (file === undefined) return key === undefined ? undefined : [parse(key, "--catalog-key")];
  if (key !== undefined) {
    throw new ConfigError(
      "--catalog-key and --catalog-key-file are both given: give only one of them",
    );
  }
  const lines = readKeyFile("--catalog-key-file", file, cwd).split(/\r?\n/).filter(Boolean);
  if (lines.length === 0) throw new ConfigError(`the file ${file} of --catalog-key-file is empty`);
  return lines.map((line) => parse(line, `each line of the file ${file}`));
}

/** The message does not contain the key. */
function parse(text: string, what: string): Buffer {
  const key = Buffer.from(text, "base64");
  if (key.length !== BYTES || !/^[A-Za-z0-9+/]{43}=$/.test(text)) {
    throw new ConfigError(
      `${what} must be ${BYTES} random bytes in base64, as \`openssl rand -base64 ${BYTES}\` makes them`,
    );
  }
  return key;
}
