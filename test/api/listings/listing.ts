import type { Client, Json } from "../../harness/client.js";

/** A listing under change: what stays in it all the time, and what comes and goes. */
export interface Listing {
  readonly name: string;
  readonly path: string;
  /** What a page lists, by what tells its items apart. */
  items(reply: Json): string[];
  /** More of a request than its paging. */
  readonly body?: object;
  /** Makes what stays; what it is called in the listing. */
  prepare(client: Client): Promise<string[]>;
  /** Adds something called after a number; what to do to take it away again. */
  add(client: Client, number: number): Promise<(() => Promise<unknown>) | undefined>;
  /** Whether `a` is listed before `b`. */
  before(a: string, b: string): boolean;
}

export const byBytes = (a: string, b: string): boolean =>
  Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;

/** Names all over the order, so that others come before, between and after them. */
export const standing = Array.from({ length: 9 }, (_, at) => `${"bdfhjlnpr"[at]}-stays`);

/** A name that falls anywhere among the standing ones. */
export const passing = (number: number): string =>
  `${String.fromCharCode(97 + (number % 20))}-${number}`;
