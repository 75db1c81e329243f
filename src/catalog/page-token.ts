import { invalidInput } from "../foundation/errors.js";
import type { NamespacePath } from "./catalog.js";
import { encodePath } from "./path.js";

/** Names in a page when the caller sets no limit, and the most it can ask for. */
export const MAX_PAGE = 10_000;

export const invalidToken = () =>
  invalidInput(
    "page_token is not valid: pass the token of the previous page of the same listing unchanged",
  );

/** The number of items a page may hold. Code 13 unless `limit` is a positive integer. */
export function pageSize(limit: number | undefined): number {
  if (limit === undefined) return MAX_PAGE;
  if (!Number.isSafeInteger(limit) || limit < 1) {
    throw invalidInput(`limit must be a positive integer, not ${limit}`);
  }
  return Math.min(limit, MAX_PAGE);
}

/** The token of the page of tables of `parent` that starts after a name. */
export const tablesPageToken = (parent: NamespacePath, after: string): string =>
  encodePageToken(tablesListing(parent), [after]);

export const tablesListing = (parent: NamespacePath): string => `tables ${encodePath(parent)}`;

/** A token that says after which item of which listing the next page starts. */
export const encodePageToken = (listing: string, after: readonly string[]): string =>
  Buffer.from(JSON.stringify([listing, ...after])).toString("base64url");

/** The item a token points at; undefined for the first page. Code 13 for a token of another listing. */
export function decodePageToken(
  listing: string,
  length: number,
  token: string | undefined,
): string[] | undefined {
  if (token === undefined || token === "") return undefined;
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(token, "base64url").toString());
  } catch {
    throw invalidToken();
  }
  if (!Array.isArray(parts) || !parts.every((part) => typeof part === "string")) {
    throw invalidToken();
  }
  const after = parts.slice(1) as string[];
  // Encoding again refuses other listings' tokens, and what a lenient base64 decoder lets through.
  if (after.length !== length || encodePageToken(listing, after) !== token) throw invalidToken();
  return after;
}
