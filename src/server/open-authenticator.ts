import { type Authenticator, allowAll, KeyAuthenticator } from "../auth/authenticator.js";
import { createFirstKey } from "../auth/first-key.js";
import { type KeyUses, StoredKeyUses } from "../auth/key-uses.js";
import type { KeyStore } from "../catalog/keys.js";
import type { Config } from "../config/config.js";
import type { Logger } from "../telemetry/logger.js";

/** The authenticator of the main thread. */
export interface OpenAuthenticator {
  readonly authenticator: Authenticator;
  readonly keyUses: KeyUses;
  /** Stores the last use of keys. Never rejects. */
  stop(): Promise<void>;
}

/** Opens the authenticator of the main thread. Creates a first admin key if there is no key. */
export async function openAuthenticator(
  config: Config,
  keys: KeyStore,
  log: Logger,
): Promise<OpenAuthenticator> {
  if (config.auth === "none") log.warn("--auth none: every client on this host may do everything");
  else if (config.apiKey === undefined) await ensureFirstKey(config.firstKeyFile, keys, log);
  const keyUses = new StoredKeyUses((ids) => keys.recordUses(ids), log);
  const oidc = await loadOidc(config);
  const authenticator = createAuthenticator({ config, keys, keyUses, oidc, log });
  return { authenticator, keyUses, stop: () => keyUses.stop() };
}

export interface AuthenticatorDependencies {
  readonly config: Config;
  readonly keys: Pick<KeyStore, "findByHash" | "findByHashSync">;
  readonly keyUses: KeyUses;
  readonly oidc: OidcModule | undefined;
  readonly log: Logger;
}

type OidcModule = typeof import("../auth/oidc/oidc-authenticator.js");

/** Loads the code for tokens if `--oidc-issuer` is set. Without it a start is 50 ms shorter. */
export async function loadOidc({ oidc }: Config): Promise<OidcModule | undefined> {
  return oidc && (await import("../auth/oidc/oidc-authenticator.js"));
}

/** The authenticator of one thread that `--auth` and `--oidc-issuer` select. */
export function createAuthenticator({
  config,
  keys,
  keyUses,
  oidc,
  log,
}: AuthenticatorDependencies): Authenticator {
  if (config.auth === "none") return allowAll;
  const keyAuthenticator = new KeyAuthenticator(keys, config.apiKey, keyUses);
  if (!config.oidc || !oidc) return keyAuthenticator;
  return new oidc.OidcAuthenticator(config.oidc, keyAuthenticator, { log });
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
