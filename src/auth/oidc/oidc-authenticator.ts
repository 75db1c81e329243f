import { decodeJwt, jwtVerify } from "jose";
import type { OidcSettings } from "../../config/config.js";
import { looksLikeJwt } from "../../foundation/jwt-form.js";
import { countLookup } from "../../telemetry/auth-counts.js";
import type { Authenticator, Identity } from "../authenticator.js";
import { identityOf } from "./claims.js";
import { ProviderKeys, type ProviderKeysOptions } from "./provider-keys.js";
import { TokenCache } from "./token-cache.js";
import { invalidToken, tokenError } from "./token-error.js";

/**
 * Asymmetric signatures only. With a symmetric algorithm an attacker could sign with the public key of the provider as
 * the secret.
 */
const algorithms = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

/** The types of ID tokens and access tokens (RFC 9068). A logout token, for example, has another one. */
const tokenTypes = /^(?:application\/)?(?:at\+)?jwt$/i;

/** Accepts tokens of an identity provider (JWT). Every other credential is for `keys`. */
export class OidcAuthenticator implements Authenticator {
  readonly #cache = new TokenCache();
  readonly #providerKeys: ProviderKeys;

  constructor(
    private readonly settings: OidcSettings,
    private readonly keys: Authenticator,
    options: Omit<ProviderKeysOptions, "onChange">,
  ) {
    // A token of a withdrawn key must not stay valid.
    const onChange = () => this.#cache.clear();
    this.#providerKeys = new ProviderKeys(settings, { ...options, onChange });
  }

  identify(credential: string): Identity | undefined | Promise<Identity | undefined> {
    if (!looksLikeJwt(credential)) return this.keys.identify(credential);
    const identity = this.#cache.get(credential);
    countLookup("tokens", identity !== undefined);
    return identity ?? this.#verify(credential);
  }

  stop(): Promise<void> {
    return this.#providerKeys.stop();
  }

  async #verify(token: string): Promise<Identity> {
    const { issuer, audiences, clockSkewMs } = this.settings;
    const { generation } = this.#cache;
    try {
      // A token of another issuer causes no fetch of keys.
      if (decodeJwt(token).iss !== issuer) throw invalidToken("is of another identity provider");
      const { payload, protectedHeader } = await jwtVerify(token, this.#providerKeys.find, {
        issuer,
        audience: [...audiences],
        algorithms,
        clockTolerance: clockSkewMs / 1_000,
        requiredClaims: ["sub", "exp"],
      });
      if (!tokenTypes.test(protectedHeader.typ ?? "JWT") || !payload.sub) {
        throw invalidToken("is neither an ID token nor an access token of a user");
      }
      const identity = identityOf(payload, this.settings);
      const until = (payload.exp as number) * 1_000 + clockSkewMs;
      this.#cache.set(token, identity, until, generation);
      return identity;
    } catch (error) {
      throw tokenError(error);
    }
  }
}
