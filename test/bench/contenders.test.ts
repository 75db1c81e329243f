import { expect, test } from "vitest";
import { contenders } from "../../bench/contenders/all.mjs";
import { python } from "../../bench/contenders/python.mjs";
import { sql } from "../../bench/contenders/sql.mjs";

test("a Python package that is nowhere is a reason, not an error", async () => {
  const wanted = { name: "nothing", packages: ["nothing==0"], module: "no_such_module" };
  expect(await python({ ...wanted, install: false })).toEqual({
    reason: "Python has no nothing==0",
  });
});

test("contenders come after those whose tables they copy", () => {
  contenders.forEach(({ copiesTablesOf }, i) => {
    if (copiesTablesOf)
      expect(contenders.slice(0, i).map(({ key }) => key)).toContain(copiesTablesOf);
  });
});

test("conditions become SQL, whatever a label holds", () => {
  expect(sql({ label: "it's", number: [1, 2] })).toBe(
    "label = 'it''s' AND number >= 1 AND number < 2",
  );
  expect(sql({ number: [1, 2] })).toBe("number >= 1 AND number < 2");
});
