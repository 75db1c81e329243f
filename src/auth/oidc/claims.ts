import type { JWTPayload } from "jose";
import type { OidcSettings } from "../../config/config.js";
import type { Identity } from "../authenticator.js";
import { type Role, roles } from "../roles.js";

type ClaimSettings = Pick<OidcSettings, "groupsClaim" | "nameClaim" | "roles">;

/** Characters of a name in logs and messages. */
const MAX_NAME = 200;

/** The user of a verified token. Only the issuer and the subject identify a user: other claims may change or repeat. */
export function identityOf(payload: JWTPayload, settings: ClaimSettings): Identity {
  const { iss, sub } = payload;
  const groups = textsOf(claim(payload, settings.groupsClaim));
  const [name = sub ?? ""] = textsOf(claim(payload, settings.nameClaim ?? "email"));
  return {
    id: `user:${iss}#${sub}`,
    name: name.slice(0, MAX_NAME),
    role: highestRole(groups, settings.roles),
    groups,
  };
}

/** A claim by its name, else by its path: `realm_access.roles`. The name itself may contain dots, as a URL does. */
function claim(payload: JWTPayload, name: string): unknown {
  if (Object.hasOwn(payload, name)) return payload[name];
  let value: unknown = payload;
  for (const part of name.split(".")) {
    if (value === null || typeof value !== "object" || !Object.hasOwn(value, part))
      return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

/** One text or a list of texts. Anything else is no text. */
const textsOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter(
    (one): one is string => typeof one === "string" && one !== "",
  );

function highestRole(groups: readonly string[], mapping: OidcSettings["roles"]): Role | "none" {
  const granted = mapping.filter(([group]) => groups.includes(group)).map(([, role]) => role);
  return roles.findLast((role) => granted.includes(role)) ?? "none";
}
