import { looksLikeJwt } from "../foundation/jwt-form.js";
import { isLoopback } from "../foundation/loopback.js";
import type { OidcSettings } from "./config.js";
import { ConfigError, type OptionType } from "./option.js";

/** An address of an identity provider. Without TLS an attacker on the network could replace its keys. */
export const providerUrl: OptionType<string> = {
  placeholder: "URL",
  parse(text) {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const isSecure =
      url?.protocol === "https:" ||
      (url?.protocol === "http:" && isLoopback(url.hostname.replace(/^\[(.*)\]$/, "$1")));
    const hasUser = url?.username !== "" || url.password !== "";
    if (!url || !isSecure || hasUser || url.search !== "" || url.hash !== "") {
      throw new ConfigError(
        `must be an https:// URL without query, fragment and user (http:// only on loopback), got "${text}"`,
      );
    }
    return text;
  },
};

/** `group=role,group=role`. A group may contain commas and equals signs, such as the name of an LDAP entry. */
export const groupRoles: OptionType<OidcSettings["roles"]> = {
  placeholder: "GROUP=ROLE,...",
  parse(text) {
    const pair = /(.+?)=(read|write|admin)(?:,|$)/y;
    const pairs: [string, "read" | "write" | "admin"][] = [];
    while (pair.lastIndex < text.length) {
      const [, group, role] = pair.exec(text) ?? [];
      if (group === undefined) break;
      pairs.push([group, role as "read" | "write" | "admin"]);
    }
    if (pairs.length === 0 || pair.lastIndex < text.length || text.endsWith(",")) {
      throw new ConfigError(
        `must be pairs of a group and one of read, write, admin, such as team=read,ops=admin, got "${text}"`,
      );
    }
    return pairs;
  },
};

/** The values of the options that begin with `oidc-`. */
export interface OidcOptions {
  readonly "oidc-issuer": string | undefined;
  readonly "oidc-audience": readonly string[];
  readonly "oidc-jwks": string | undefined;
  readonly "oidc-groups-claim": string | undefined;
  readonly "oidc-name-claim": string | undefined;
  readonly "oidc-roles": OidcSettings["roles"] | undefined;
  readonly "oidc-clock-skew": number | undefined;
}

const dependent = [
  "oidc-jwks",
  "oidc-groups-claim",
  "oidc-name-claim",
  "oidc-roles",
  "oidc-clock-skew",
] as const;

/** The identity provider of `--oidc-issuer`; undefined without it. @throws ConfigError for options that exclude each other */
export function oidcOf(
  options: OidcOptions,
  auth: "keys" | "none",
  apiKey: string | undefined,
): OidcSettings | undefined {
  const issuer = options["oidc-issuer"];
  const audiences = options["oidc-audience"];
  if (issuer === undefined) {
    const lonely =
      audiences.length > 0
        ? "oidc-audience"
        : dependent.find((name) => options[name] !== undefined);
    if (lonely !== undefined) throw new ConfigError(`--${lonely} needs --oidc-issuer too`);
    return undefined;
  }
  if (audiences.length === 0) {
    throw new ConfigError(
      "--oidc-issuer needs --oidc-audience too: without it the server would accept tokens for other applications",
    );
  }
  if (auth === "none") {
    throw new ConfigError(
      "--oidc-issuer needs --auth keys: with --auth none the server identifies no caller",
    );
  }
  if (apiKey !== undefined && looksLikeJwt(apiKey)) {
    throw new ConfigError(
      "--api-key must not have the form of a JWT if --oidc-issuer is set: choose a random key",
    );
  }
  const nameClaim = options["oidc-name-claim"];
  const jwksUrl = options["oidc-jwks"];
  return {
    issuer,
    audiences,
    groupsClaim: options["oidc-groups-claim"] ?? "groups",
    roles: options["oidc-roles"] ?? [],
    clockSkewMs: options["oidc-clock-skew"] ?? 30_000,
    ...(nameClaim !== undefined && { nameClaim }),
    ...(jwksUrl !== undefined && { jwksUrl }),
  };
}
