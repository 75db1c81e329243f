import type { TSchema } from "@sinclair/typebox";
import { invalidInput } from "../../foundation/errors.js";
import { commonMembers } from "../schemas.js";

/** The members `identity` and `context`, which every JSON body may have. (`id`: see identifier.ts.) */

/** Adds the common members to the schema of a body. */
export const withCommonMembers = (schema: TSchema): TSchema => ({
  ...schema,
  properties: { ...commonMembers, ...schema.properties },
});

const noContext: Readonly<Record<string, string>> = Object.freeze({});

/** The key in a body's `identity`; "" without one. */
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

/** The body's `context`, merged with the `x-ns-ctx-*` headers. A header overrides the entry of the body. */
export function contextOf(
  headers: { readonly context: Readonly<Record<string, string>> | undefined },
  body: Readonly<Record<string, unknown>> | undefined,
): Readonly<Record<string, string>> {
  const inBody = body?.context;
  if (inBody === undefined || inBody === null) return headers.context ?? noContext;
  if (
    typeof inBody !== "object" ||
    Object.values(inBody).some((value) => typeof value !== "string")
  ) {
    throw invalidInput("`context` must be an object of strings");
  }
  return { ...(inBody as Record<string, string>), ...headers.context };
}
