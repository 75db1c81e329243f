/** The declared access of every operation against a table that does not depend on it. */
import { describe, expect, it } from "vitest";
import type { Requirement } from "../../../src/api/access.js";
import type { Operation } from "../../../src/api/operation.js";
import type { SecuredObject } from "../../../src/catalog/grants/grants.js";
import { namesOf, type Privilege, setOf } from "../../../src/catalog/grants/privileges.js";
import { operations } from "../../../src/operations/index.js";
import { conditionalAccess, expectedAccess, readsState } from "./expected-access.js";
import { objectOf } from "./grant-callers.js";

const expected = Object.entries(expectedAccess).flatMap(([role, table]) =>
  Object.entries(table).map(([id, access]) => ({ id, role, ...access })),
);

const sorted = (names: readonly Privilege[] | undefined): Privilege[] =>
  namesOf(setOf(names ?? []));

/** All privileges that a request needs on each object. */
function byObject(requirements: readonly Requirement[]): [SecuredObject, Privilege[]][] {
  const all = new Map<string, [SecuredObject, Privilege[]]>();
  for (const { object, privileges } of requirements) {
    const name = JSON.stringify(object);
    const former = all.get(name)?.[1] ?? [];
    all.set(name, [object, sorted([...former, ...privileges])]);
  }
  return [...all.values()];
}

describe("the access of an operation", () => {
  it("is expected for each operation, once, and for no other one", () => {
    const ids = expected.map(({ id }) => id);
    expect(ids.sort()).toEqual(operations.map(({ id }) => id).sort());
  });

  it.each(operations.map((one) => [one.id, one] as const))(
    "of %s has the expected object, privileges and role",
    (id, { access, administrative, permission }: Operation) => {
      const declared = {
        on: access.on,
        privileges: sorted(access.privileges),
        sometimes: sorted(access.sometimes),
        administrative: administrative !== undefined,
        role: permission,
      };
      const one = expected.find((other) => other.id === id);
      expect(declared).toEqual({
        on: one?.on,
        privileges: sorted(one?.privileges),
        sometimes: sorted(one?.sometimes),
        administrative: one?.administrative === true,
        role: one?.role,
      });
    },
  );

  it("has an expectation for each condition on the content", () => {
    const ids = operations.filter(({ access }) => access.also).map(({ id }) => id);
    expect([...Object.keys(conditionalAccess), ...readsState].sort()).toEqual(ids.sort());
  });

  it.each(
    Object.entries(conditionalAccess).flatMap(([id, cases]) =>
      cases.map((one) => [id, JSON.stringify(one.request), one] as const),
    ),
  )("of %s follows from its content: %s", async (id, _, { request, needs }) => {
    const operation = operations.find((one) => one.id === id) as Operation;
    const call = { id: ["n", "t"], params: {}, payload: {}, ...request };
    // biome-ignore lint/suspicious/noExplicitAny: only these members of a call are read
    const also = (await operation.access.also?.(call as any, {} as any)) ?? [];
    const expected = needs.map(([object, ...privileges]) => ({
      object: objectOf(object),
      privileges,
    }));
    expect(byObject(also)).toEqual(byObject(expected));
  });
});
