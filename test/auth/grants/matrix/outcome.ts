/** What a request must return to a caller, by the rules of docs/secure.md. */
import type { AccessObject } from "../../../../src/api/access.js";
import type { SecuredObject } from "../../../../src/catalog/grants/grants.js";
import {
  namesOf,
  type Privilege,
  roleBundles,
  setOf,
} from "../../../../src/catalog/grants/privileges.js";
import { expectedAccess } from "../expected-access.js";
import { objectOf } from "../grant-callers.js";
import { type Caller, grantedObjects, isUnknown, namedTables } from "./callers.js";
import type { Case, Names, Need } from "./case.js";

export type Outcome =
  | { readonly kind: "unauthenticated" | "admitted" }
  | { readonly kind: "denied"; readonly missing: readonly Privilege[] }
  /** The object answers like one that does not exist. `name`: the part of its name that the caller may not know. */
  | { readonly kind: "hidden"; readonly name: string };

const accessOf = (operation: string) => {
  const access = Object.values(expectedAccess).find((byId) => byId[operation])?.[operation];
  if (!access) throw new Error(`expected-access.ts has no entry for ${operation}`);
  return access;
};

export const objectOfOperation = (operation: string): AccessObject => accessOf(operation).on;

/** The object in the path of a request. */
export function idOf(operation: string, one: Case, names: Names): readonly string[] {
  if (one.id) return one.id(names);
  const { space, table, transaction, n } = names;
  switch (objectOfOperation(operation)) {
    case "namespace":
      return [space];
    case "transaction object":
      return [transaction];
    case "new table":
    case "new namespace":
      return [space, `new${n}`];
    case "server":
      // RegisterTable: its path names a new table.
      return [space, `new${n}`];
    default:
      return [space, table];
  }
}

/** What a request needs, in the order in which the server may reveal it. */
export function needsOf(operation: string, one: Case, names: Names): readonly Need[] {
  if (one.needs) return one.needs(names);
  const { on, privileges } = accessOf(operation);
  const id = idOf(operation, one, names);
  const namespace = (path: readonly string[]): string =>
    path.length === 0 ? "server" : `namespace:${path.join("$")}`;
  const objects: Record<AccessObject, string | undefined> = {
    table: `table:${id.join("$")}`,
    namespace: namespace(id),
    "new table": namespace(id.slice(0, -1)),
    "new namespace": namespace(id.slice(0, -1)),
    "job table": `table:${names.space}$${names.table}`,
    "transaction object": `table:${names.space}$${names.table}`,
    "named tables": `table:${names.space}$${names.table}`,
    server: "server",
    body: undefined,
    nothing: undefined,
  };
  const object = objects[on];
  return [
    ...(object === undefined ? [] : [[object, ...privileges] as const]),
    ...(one.also?.(names) ?? []),
  ];
}

const pathOf = (object: SecuredObject): readonly string[] =>
  object.kind === "server" ? [] : object.kind === "table" ? object.id : object.path;

const startsWith = (path: readonly string[], start: readonly string[]): boolean =>
  start.every((name, depth) => path[depth] === name);

/** Whether one object contains another one or is the same. */
function contains(outer: SecuredObject, inner: SecuredObject): boolean {
  if (outer.kind === "server") return true;
  if (inner.kind === "server") return false;
  if (outer.kind === "table") {
    return inner.kind === "table" && outer.id.join("$") === inner.id.join("$");
  }
  const path = pathOf(inner);
  const isBelow = inner.kind === "namespace" || path.length > outer.path.length;
  return isBelow && startsWith(path, outer.path);
}

/** What one caller has on the objects that its requests name. */
export class Holdings {
  readonly #granted: readonly SecuredObject[];

  constructor(
    private readonly caller: Caller,
    { space, table, view }: Names,
  ) {
    const fresh = [
      [space, table],
      [space, view],
    ];
    this.#granted = grantedObjects(caller, [...namedTables, ...fresh]);
  }

  on(object: SecuredObject): number {
    const role = roleBundles[this.caller.role];
    const isGranted = this.#granted.some((one) => contains(one, object));
    return isGranted ? role | setOf(this.caller.privileges) : role;
  }

  /** A namespace is visible, too, if something in it is. */
  sees(object: SecuredObject): boolean {
    if (object.kind === "server" || this.on(object) !== 0) return true;
    if (object.kind === "table" || this.caller.privileges.length === 0) return false;
    return this.#granted.some((one) => startsWith(pathOf(one), object.path));
  }
}

/** What a caller that sends a request must get. */
export function outcomeOf(needs: readonly Need[], caller: Caller, names: Names): Outcome {
  if (isUnknown(caller)) return { kind: "unauthenticated" };
  const holdings = new Holdings(caller, names);
  for (const [text, ...privileges] of needs) {
    const object = objectOf(text);
    if (!holdings.sees(object)) {
      const path = pathOf(object);
      const hiddenAt = path.findIndex(
        (_, depth) =>
          depth < path.length - 1 &&
          !holdings.sees({ kind: "namespace", path: path.slice(0, depth + 1) }),
      );
      return { kind: "hidden", name: path.at(hiddenAt) as string };
    }
    const missing = setOf(privileges) & ~holdings.on(object);
    if (missing !== 0) return { kind: "denied", missing: namesOf(missing) };
  }
  return { kind: "admitted" };
}
