import type { PageRequest } from "../catalog/catalog.js";
import { decodePageToken, encodePageToken, invalidToken } from "../catalog/page-token.js";

interface Listing<T> {
  /** Names the listing and its order: the token of one is refused by another. */
  name: string;
  /** What tells the items apart and orders them. */
  key(item: T): string;
  /** Whether a key may be one of this listing's; default: any may. */
  isKey?(key: string): boolean;
  /** Whether an item comes after the one with that key, which may be gone by now. */
  comesAfter(item: T, key: string): boolean;
}

/**
 * The page of a sorted list, all of it when no limit is asked for. The token holds the key of the
 * last item: what others add or remove meanwhile makes the next page neither skip nor repeat.
 *
 * @throws code 13 for a token of another listing
 */
export function pageOf<T>(
  listing: Listing<T>,
  sorted: readonly T[],
  { limit = Number.POSITIVE_INFINITY, pageToken }: PageRequest,
): { items: readonly T[]; next: string | undefined } {
  const after = decodePageToken(listing.name, 1, pageToken)?.[0];
  if (after !== undefined && listing.isKey?.(after) === false) throw invalidToken();
  const rest =
    after === undefined ? sorted : sorted.filter((item) => listing.comesAfter(item, after));
  const items = rest.slice(0, limit);
  const last = items.at(-1);
  const more = last !== undefined && rest.length > items.length;
  return { items, next: more ? encodePageToken(listing.name, [listing.key(last)]) : undefined };
}

/** A listing of things that have names, in the order of the names' bytes. */
export const byName = <T>(name: string, key: (item: T) => string): Listing<T> => ({
  name,
  key,
  comesAfter: (item, after) => compareNames(key(item), after) > 0,
});

export const compareNames = (a: string, b: string): number =>
  Buffer.compare(Buffer.from(a), Buffer.from(b));
