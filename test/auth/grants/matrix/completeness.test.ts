/** The matrix forgets no operation and no privilege. */
import { expect, it } from "vitest";
import { namesOf, type Privilege, setOf } from "../../../../src/catalog/grants/privileges.js";
import { operations } from "../../../../src/operations/index.js";
import { expectedAccess } from "../expected-access.js";
import { cases, parts } from "./all-cases.js";
import { objects } from "./callers.js";
import type { Names } from "./case.js";
import { needsOf } from "./outcome.js";

const names: Names = { ...objects, job: "j", transaction: "t", location: "l", n: 1, fresh: "f" };

it("every operation has requests, and no other name does", () => {
  const ids = parts.flatMap((part) => Object.keys(part));
  expect(ids.sort()).toEqual(operations.map(({ id }) => id).sort());
});

const expected = Object.values(expectedAccess).flatMap((byId) => Object.entries(byId));

it.each(expected)(
  "a request of %s needs each privilege that the operation may need",
  (id, access) => {
    const { privileges, sometimes = [], administrative } = access;
    const may: readonly Privilege[] = [
      ...privileges,
      ...sometimes,
      ...(administrative ? (["manage"] as const) : []),
    ];
    const needed = cases[id]?.flatMap((one) =>
      needsOf(id, one, names).flatMap(([, ...all]) => all),
    );
    expect(namesOf(setOf(may) & ~setOf(needed ?? []))).toEqual([]);
  },
);
