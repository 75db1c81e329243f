import { expect, test } from "vitest";
import { choose, parseArguments } from "../../bench/arguments.mjs";
import { scenarios } from "../../bench/scenarios.mjs";

test("the default is every scenario on 100,000 generated rows", () => {
  const options = parseArguments([]);
  expect(options).toMatchObject({ scenarios: [], clients: [1, 8], rounds: 3, install: true });
  expect(options.rows).toBeUndefined();
  expect(options.dimensions).toBe(128);
  expect(choose("scenario", scenarios, options.scenarios)).toBe(scenarios);
});

test("--quick uses small sizes, installs nothing and can be combined with larger sizes", () => {
  expect(parseArguments(["--quick"])).toMatchObject({
    rounds: 1,
    clients: [8],
    install: false,
    sqlRows: 50_000,
  });
  expect(parseArguments(["--quick", "--rows=900", "--clients=2,4"])).toMatchObject({
    rows: 900,
    clients: [2, 4],
  });
});

test("a data file is read completely unless --rows or --quick limits it", () => {
  expect(parseArguments(["--data=a.arrows"]).rows).toBeUndefined();
  expect(parseArguments(["--data=a.arrows", "--quick"]).rows).toBe(3_000);
  expect(parseArguments(["--data=a.hdf5", "--rows=10"]).rows).toBe(10);
});

test("--scale has separate default sizes and 64 dimensions", () => {
  expect(parseArguments(["--scale"])).toMatchObject({
    scale: [100_000, 1_000_000],
    dimensions: 64,
  });
  expect(parseArguments(["--scale=10,20", "--dimensions=8"])).toMatchObject({
    scale: [10, 20],
    dimensions: 8,
  });
});

test.each([
  [["--rows=0"], /--rows must be an integer of at least 1, not "0"/],
  [["--rows=1e99"], /--rows/],
  [["--seconds=fast"], /--seconds/],
  [["--clients=1,,8"], /--clients/],
  [["--scale=10", "--data=x.arrows"], /--scale or --data, not both/],
  [["--scale", "--cores=1"], /--scale or --cores, not both/],
  [["--colour"], /--colour/],
])("%j is rejected", (args, message) => {
  expect(() => parseArguments(args)).toThrow(message);
});

test("the message for an unknown scenario lists the known ones", () => {
  expect(() => choose("scenario", scenarios, ["vectors"])).toThrow(
    /no scenario vectors; there are vector-pq,/,
  );
  expect(choose("scenario", scenarios, ["text", "count"]).map(({ key }) => key)).toEqual([
    "text",
    "count",
  ]);
});

test("every scenario has a unique key", () => {
  expect(new Set(scenarios.map(({ key }) => key)).size).toBe(scenarios.length);
});
