import type { Client, Json } from "../../harness/client.js";

/** A listing under concurrent changes, with permanent and temporary items. */
export interface Listing {
  readonly name: string;
  readonly path: string;
  /** The items of a page, by their identity. */
  items(reply: Json): string[];
  /** Members of the request besides paging. */
  readonly body?: object;
  /** Creates the permanent items and returns their identities. */
  prepare(client: Client): Promise<string[]>;
  /** Adds a temporary item named after a number and returns a function that removes it. */
  add(client: Client, number: number): Promise<(() => Promise<unknown>) | undefined>;
  /** Whether `a` is listed before `b`. */
  before(a: string, b: string): boolean;
}

export const byBytes = (a: string, b: string): boolean =>
  Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;

/** Names spread over the sort order, so that temporary items sort before, between and after them. */
export const permanentNames = Array.from({ length: 9 }, (_, at) => `${"bdfhjlnpr"[at]}-stays`);

/** A name that sorts anywhere among the permanent ones. */
export const temporaryName = (number: number): string =>
  `${String.fromCharCode(97 + (number % 20))}-${number}`;
