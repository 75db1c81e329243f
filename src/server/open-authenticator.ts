import { type Authenticator, allowAll, KeyAuthenticator } from "../auth/authenticator.js";
import { createFirstKey } from "../auth/first-key.js";
import type { KeyStore } from "../catalog/keys.js";
import type { Config } from "../config/config.js";
import type { Logger } from "../telemetry/logger.js";

/** The authenticator that `--auth` selects. Creates a first admin key if there is no key. */
export async function openAuthenticator(
  config: Config,
  keys: KeyStore,
  log: Logger,
): Promise<Authenticator> {
  if (config.auth === "none") {
    log.warn("--auth none: every client on this host may do everything");
    return allowAll;
  }
  if (config.apiKey === undefined) await ensureFirstKey(config.firstKeyFile, keys, log);
  return new KeyAuthenticator(keys, config.apiKey);
}

async function ensureFirstKey(file: string, keys: KeyStore, log: Logger): Promise<void> {
  try {
    const path = await createFirstKey(keys, file);
    if (path)
      process.stdout.write(`a first admin key is in ${path}: read it and remove the file\n`);
  } catch (err) {
    if (!(err instanceof Error && "syscall" in err)) throw err;
    log.warn(
      { err, file },
      "there is no admin key, because its file cannot be written: create one with `joust key create --role admin`, or set --api-key-file",
    );
  }
}
