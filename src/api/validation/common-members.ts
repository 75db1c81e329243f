import type { TSchema } from "@sinclair/typebox";
import { invalidInput } from "../../foundation/errors.js";
import { commonMembers } from "../schemas.js";

/** The members that every JSON body may have beside its own: `identity` and `context`. (`id`: see identifier.ts.) */

/** The schema of a body, with those. */
export const withCommonMembers = (schema: TSchema): TSchema => ({
  ...schema,
  properties: { ...commonMembers, ...schema.properties },
});

const noContext: Readonly<Record<string, string>> = Object.freeze({});

/** The key in a body's `identity`, "" when there is none. */
export function keyOf(body: Readonly<Record<string, unknown>>): string {
  const identity = body.identity;
  if (identity === undefined || identity === null) return "";
  if (typeof identity !== "object") throw invalidInput("`identity` must be an object");
  const { api_key, auth_token } = identity as Record<string, unknown>;
  const key = api_key ?? auth_token ?? "";
  if (typeof key !== "string") {
    throw invalidInput("`identity.api_key` and `identity.auth_token` must be strings");
  }
  return key;
}

/** The body's `context` and the `x-ns-ctx-*` headers; of two entries with one key the header's counts. */
export function contextOf(
  headers: { readonly context: Readonly<Record<string, string>> | undefined },
  body: Readonly<Record<string, unknown>> | undefined,
): Readonly<Record<string, string>> {
  const inBody = body?.context;
  if (inBody === undefined || inBody === null) return headers.context ?? noContext;
  if (typeof inBody !== "object" || Object.values(inBody).some((one) => typeof one !== "string")) {
    throw invalidInput("`context` must be an object of strings");
  }
  return { ...(inBody as Record<string, string>), ...headers.context };
}
