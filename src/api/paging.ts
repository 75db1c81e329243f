import type { PageRequest } from "../catalog/catalog.js";
import { decodePageToken, encodePageToken, invalidToken } from "../catalog/page-token.js";

interface PagingMembers {
  limit?: number | undefined;
  page_token?: string | undefined;
}

/** The requested page. A listing has the same members in its query (GET) and in its body (POST). */
export function readPageRequest(params: PagingMembers, body: PagingMembers = {}): PageRequest {
  const limit = body.limit ?? params.limit;
  const pageToken = body.page_token ?? params.page_token;
  return {
    ...(limit !== undefined && { limit }),
    ...(pageToken !== undefined && pageToken !== "" && { pageToken }),
  };
}

/** `page_token` of a reply; absent on the last page. */
export const nextPageToken = (pageToken: string | undefined): { page_token?: string } =>
  pageToken === undefined ? {} : { page_token: pageToken };

interface Listing<T> {
  /** Identifies the listing and its order. A listing refuses the token of another one. */
  name: string;
  /** Unique to an item. */
  key(item: T): string;
  /** Whether a key can be one of this listing; default: any can. */
  isKey?(key: string): boolean;
  /** Whether an item follows the item with that key, which may have been deleted. */
  isAfter(item: T, key: string): boolean;
}

/**
 * One page of a sorted list; the complete list without a limit. The token holds the key of the last item, so
 * concurrent inserts and deletes make the next page neither skip nor repeat an item.
 *
 * @throws code 13 for a token of another listing
 */
export function paginate<T>(
  listing: Listing<T>,
  sorted: readonly T[],
  { limit = Number.POSITIVE_INFINITY, pageToken }: PageRequest,
): { items: readonly T[]; next: string | undefined } {
  const after = decodePageToken(listing.name, 1, pageToken)?.[0];
  if (after !== undefined && listing.isKey?.(after) === false) throw invalidToken();
  const rest = after === undefined ? sorted : sorted.filter((item) => listing.isAfter(item, after));
  const items = rest.slice(0, limit);
  const last = items.at(-1);
  const more = last !== undefined && rest.length > items.length;
  return { items, next: more ? encodePageToken(listing.name, [listing.key(last)]) : undefined };
}

/** A listing in the byte order of the items' names. */
export const listingByName = <T>(name: string, key: (item: T) => string): Listing<T> => ({
  name,
  key,
  isAfter: (item, after) => compareNames(key(item), after) > 0,
});

export const compareNames = (a: string, b: string): number =>
  Buffer.compare(Buffer.from(a), Buffer.from(b));
