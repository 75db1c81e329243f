/** The privileges, sets of them, and the roles as sets. */
import { invalidInput } from "../../foundation/errors.js";

/** In the order in which listings show them. */
export const privileges = [
  "select",
  "insert",
  "update",
  "delete",
  "create",
  "drop",
  "manage",
  "grant",
] as const;

export type Privilege = (typeof privileges)[number];

export const isPrivilege = (text: string): text is Privilege =>
  (privileges as readonly string[]).includes(text);

/** A set of privileges: one bit for each, in the order of `privileges`. */
export type PrivilegeSet = number;

export const NO_PRIVILEGES: PrivilegeSet = 0;
export const ALL_PRIVILEGES: PrivilegeSet = 2 ** privileges.length - 1;

/** Beside the privileges of a set: the caller also has some for the rows of a filter only, which are not in the set. */
export const FILTERED: PrivilegeSet = 2 ** privileges.length;

/** The privileges that a row filter can restrict. */
const filterable: readonly Privilege[] = ["select", "insert", "update", "delete"];

/** @throws code 13 if a row filter cannot restrict one of the privileges */
export function checkFilterable(privileges: readonly Privilege[]): void {
  const other = privileges.find((privilege) => !filterable.includes(privilege));
  if (other === undefined) return;
  throw invalidInput(
    `the privilege ${other} has no row filter: ${filterable.join(", ")} can have one`,
  );
}

export const bitOf = (privilege: Privilege): PrivilegeSet => 1 << privileges.indexOf(privilege);

export const setOf = (names: readonly Privilege[]): PrivilegeSet =>
  names.reduce((set, name) => set | bitOf(name), NO_PRIVILEGES);

export const namesOf = (set: PrivilegeSet): Privilege[] =>
  privileges.filter((name) => (set & bitOf(name)) !== 0);

export const covers = (held: PrivilegeSet, needed: PrivilegeSet): boolean =>
  (held & needed) === needed;

/** Whether the caller may read some rows only. */
export const readsSomeRows = (held: PrivilegeSet): boolean =>
  covers(held, FILTERED) && !covers(held, bitOf("select"));

/** The roles of keys as privileges on the whole server. `none`: only grants give privileges. */
export const roleBundles = {
  none: NO_PRIVILEGES,
  read: setOf(["select"]),
  write: setOf(["select", "insert", "update", "delete", "create", "drop"]),
  admin: ALL_PRIVILEGES,
} as const satisfies Record<string, PrivilegeSet>;

/** The least role that covers a set of privileges. */
export function leastRole(needed: PrivilegeSet): "read" | "write" | "admin" {
  if (covers(roleBundles.read, needed)) return "read";
  return covers(roleBundles.write, needed) ? "write" : "admin";
}
