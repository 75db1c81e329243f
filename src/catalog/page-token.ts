import { invalidInput } from "../foundation/errors.js";
import type { NamespacePath } from "./catalog.js";
import { encodePath } from "./path.js";

/** Items in a page without a limit; also the largest limit. */
export const MAX_PAGE = 10_000;

export const invalidToken = () =>
  invalidInput(
    "page_token is not valid: pass the token of the previous page of the same listing unchanged",
  );

/** Returns the size of a page. @throws code 13 unless `limit` is a positive integer */
export function pageSize(limit: number | undefined): number {
  if (limit === undefined) return MAX_PAGE;
  if (!Number.isSafeInteger(limit) || limit < 1) {
    throw invalidInput(`limit must be a positive integer, not ${limit}`);
  }
  return Math.min(limit, MAX_PAGE);
}

/** Returns the token of the page of tables of `parent` that starts after a name. */
export const tablesPageToken = (parent: NamespacePath, after: string): string =>
  encodePageToken(tablesListing(parent), [after]);

export const tablesListing = (parent: NamespacePath): string => `tables ${encodePath(parent)}`;

/** Encodes the listing and the last item of a page. */
export const encodePageToken = (listing: string, after: readonly string[]): string =>
  Buffer.from(JSON.stringify([listing, ...after])).toString("base64url");

/**
 * Returns the last item of the previous page; undefined for the first page.
 *
 * @throws code 13 for a token of another listing
 */
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
  // The comparison refuses tokens of other listings, and malformed base64 that the decoder accepts.
  if (after.length !== length || encodePageToken(listing, after) !== token) throw invalidToken();
  return after;
}
