/**
 * Properties of page tokens and of cursors of the change feed, for any text that a client sends.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import fc from "fast-check";

/**
 * The checked-in inputs by property, which every run tries first. Put an input that made a property fail here.
 *
 * @type {Record<string, [unknown, ...unknown[]][]>}
 */
export const tokenCorpus = JSON.parse(
  readFileSync(new URL("./corpus/page-tokens.json", import.meta.url), "utf8"),
);

/** The code of an error of the client. */
const INVALID_INPUT = 13;

/** Parts of names that JSON, base64 or UTF-8 treat in a special way. */
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.constantFrom("a", "/", "~", "ü", "😀", "\ud800", "\0", '"', "\\", ".") }),
);
const json = fc.jsonValue().map((value) => JSON.stringify(value));
const base64url = (arbitrary) => arbitrary.map((value) => Buffer.from(value).toString("base64url"));

/** Texts that no reply contains, nearly all of them. */
const anyToken = fc.oneof(
  text,
  fc.base64String(),
  base64url(text),
  base64url(json),
  base64url(
    fc.array(fc.oneof(text, fc.double(), fc.constant(null))).map((value) => JSON.stringify(value)),
  ),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString("base64url")),
);

/** A token and the same one with a character replaced, inserted or removed. */
const changed = (token, at, character) => {
  const place = at % (token.length + 1);
  const [head, tail] = [token.slice(0, place), token.slice(place)];
  return [head + character + tail, head + tail.slice(1), head + character + tail.slice(1)];
};
const character = fc.constantFrom(..."azAZ09-_+/=.%\n ü");

/** The result of `work`; undefined if it rejects its input as an error of the client. */
function accepted(work) {
  try {
    return work();
  } catch (error) {
    assert.equal(error.code, INVALID_INPUT, error.stack);
    return undefined;
  }
}

/**
 * The properties by name. They receive the functions, which the tests import from the sources and the fuzzer from the
 * compiled server.
 *
 * @param {{
 *   encodePageToken: (listing: string, after: readonly string[]) => string,
 *   decodePageToken: (listing: string, length: number, token: string | undefined) => string[] | undefined,
 *   paginate: (listing: any, sorted: readonly any[], page: any) => { items: readonly any[], next: string | undefined },
 *   listingByName: (name: string, key: (item: any) => string) => any,
 *   compareNames: (a: string, b: string) => number,
 *   encodeCursor: (cursor: any) => string,
 *   decodeCursor: (text: string) => any,
 * }} functions
 */
export function tokenProperties(functions) {
  const { encodePageToken, decodePageToken, paginate, listingByName, compareNames } = functions;
  const { encodeCursor, decodeCursor } = functions;
  const cursor = fc.record(
    { table: text, version: fc.maxSafeInteger(), branch: text, filter: text },
    { noNullPrototype: true },
  );
  return {
    "a page token contains its item": fc.property(text, fc.array(text), (listing, after) => {
      const token = encodePageToken(listing, after);
      assert.match(token, /^[\w-]+$/);
      assert.deepEqual(decodePageToken(listing, after.length, token), after);
      assert.equal(
        accepted(() => decodePageToken(`${listing}x`, after.length, token)),
        undefined,
      );
      assert.equal(
        accepted(() => decodePageToken(listing, after.length + 1, token)),
        undefined,
      );
    }),
    "a page token that no reply contains is rejected": fc.property(
      text,
      anyToken,
      (listing, token) => {
        const after = accepted(() => decodePageToken(listing, 1, token));
        if (after !== undefined) assert.equal(encodePageToken(listing, after), token);
      },
    ),
    "a changed page token is rejected or is another one": fc.property(
      text,
      text,
      fc.nat(),
      character,
      (listing, item, at, other) => {
        for (const token of changed(encodePageToken(listing, [item]), at, other)) {
          const after = accepted(() => decodePageToken(listing, 1, token));
          if (after !== undefined) assert.equal(encodePageToken(listing, after), token);
        }
      },
    ),
    "the pages of a listing are the listing": fc.property(
      fc.uniqueArray(text, { maxLength: 30, comparator: (a, b) => compareNames(a, b) === 0 }),
      fc.integer({ min: 1, max: 7 }),
      anyToken,
      (names, limit, strange) => {
        const sorted = names.toSorted(compareNames);
        const listing = listingByName("names", (name) => name);
        const seen = [];
        let pageToken;
        do {
          const page = paginate(listing, sorted, { limit, ...(pageToken && { pageToken }) });
          assert.ok(page.items.length <= limit);
          seen.push(...page.items);
          pageToken = page.next;
        } while (pageToken !== undefined && seen.length <= sorted.length);
        assert.deepEqual(seen, sorted);
        accepted(() => paginate(listing, sorted, { limit, pageToken: strange }));
      },
    ),
    "a cursor contains its position": fc.property(cursor, (position) => {
      assert.deepEqual(decodeCursor(encodeCursor(position)), position);
    }),
    "a cursor that no reply contains is rejected": fc.property(
      fc.oneof(
        anyToken,
        fc
          .tuple(cursor, fc.nat(), character)
          .map(([position, at, other]) => changed(encodeCursor(position), at, other)[at % 3]),
      ),
      (token) => {
        const position = accepted(() => decodeCursor(token));
        if (position !== undefined) assert.equal(encodeCursor(position), token);
      },
    ),
  };
}
