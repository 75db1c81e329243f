/** What the matrix knows about the requests of an operation. */
import type { Privilege } from "../../../../src/catalog/grants/privileges.js";

/** The names that a request uses. */
export interface Names {
  readonly space: string;
  readonly table: string;
  /** A table that requests may change in any way. */
  readonly scratch: string;
  readonly view: string;
  /** The index build of the table, and the transaction that tagged it. */
  readonly job: string;
  readonly transaction: string;
  /** The location of the table. */
  readonly location: string;
  /** Another one for each request: for names of new objects. */
  readonly n: number;
  /** A namespace, tag, branch, group or location that exists for the request: see `Fresh`. */
  readonly fresh: string;
}

/**
 * An object that the request changes for good, so that each admitted request needs another one. A fresh table, with or
 * without an index, and a fresh view take the place of `table` and `view` in the names, and so does the table of an
 * upload that replaces its rows.
 */
export type Fresh =
  | "table"
  | "indexed table"
  | "view"
  | "namespace"
  | "tag"
  | "branch"
  | "grant"
  | "upload"
  | "replacing upload";

/** `server`, `namespace:a$b` or `table:a$b$t` (see `objectOf`), and privileges on it. */
export type Need = readonly [object: string, ...privileges: Privilege[]];

export interface Case {
  /** Which of several requests of the operation. */
  readonly title?: string;
  /** The object in the path. Default: by the object of the operation. */
  readonly id?: (names: Names) => readonly string[];
  /** Further parameters in the path. */
  readonly path?: Readonly<Record<string, string>>;
  readonly params?: (names: Names) => Readonly<Record<string, string>>;
  readonly body?: (names: Names) => object | Uint8Array;
  /** What the request needs after what every request of the operation needs, in the order of the checks. */
  readonly also?: (names: Names) => readonly Need[];
  /** A caller of this role needs nothing else. */
  readonly role?: "write";
  /** What it needs in place of that. */
  readonly needs?: (names: Names) => readonly Need[];
  /** The reply to an admitted caller: its status, and the message of a failure after the check. Default: 200. */
  readonly admitted?: number | readonly [status: number, message: RegExp];
  readonly fresh?: Fresh;
}

/** The requests of each operation. An operation without an entry fails the test. */
export type Cases = Readonly<Record<string, readonly Case[]>>;

export const onTable = ({ space, table }: Pick<Names, "space" | "table">): string =>
  `table:${space}$${table}`;
export const inSpace = ({ space }: Pick<Names, "space">): string => `namespace:${space}`;

/** A case with a JSON body. */
export const json = (body: (names: Names) => object, rest: Omit<Case, "body"> = {}): Case => ({
  ...rest,
  body,
});

/** An Arrow stream that ends too early: the handler refuses it. */
export const broken = new Uint8Array([1, 2, 3]);
export const refusesArrow = [400, /Arrow/] as const;
