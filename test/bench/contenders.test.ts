import { expect, test } from "vitest";
import { contenders } from "../../bench/contenders/all.mjs";
import { python } from "../../bench/contenders/python.mjs";
import { sql } from "../../bench/contenders/sql.mjs";
import { runs } from "../../bench/data/tables.mjs";
import { scenarios } from "../../bench/scenarios.mjs";

test("a missing Python package makes a contender absent with a reason instead of an error", async () => {
  const wanted = { name: "nothing", packages: ["nothing==0"], module: "no_such_module" };
  expect(await python({ ...wanted, install: false })).toEqual({
    reason: "Python has no nothing==0",
  });
});

test("a contender is listed after the contender whose tables it copies", () => {
  contenders.forEach(({ copiesTablesOf }, i) => {
    if (copiesTablesOf)
      expect(contenders.slice(0, i).map(({ key }) => key)).toContain(copiesTablesOf);
  });
});

test("filters become SQL with escaped labels", () => {
  expect(sql({ label: "it's", number: [1, 2] })).toBe(
    "label = 'it''s' AND number >= 1 AND number < 2",
  );
  expect(sql({ number: [1, 2] })).toBe("number >= 1 AND number < 2");
});

test("a contender may run some groups of scenarios", () => {
  const granted = contenders.find(({ key }) => key === "joust-granted");
  const run = scenarios.filter((scenario) => granted && runs(granted, scenario));
  expect(run.map(({ key }) => key)).toEqual([
    "filter",
    "points",
    "count",
    "count-filter",
    "describe",
  ]);
});

test("only contenders that fill columns run a function", () => {
  const filling = scenarios.filter(({ group }) => group === "functions");
  expect(filling.map(({ key }) => key)).toEqual(["function"]);
  const running = contenders.filter((contender) => filling.some((one) => runs(contender, one)));
  expect(running.map(({ key }) => key)).toEqual(["joust-functions", "pylance-script"]);
});
