import { existsSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { progressOf } from "../../scripts/fuzz/libfuzzer.mjs";
import { ENGINE_TARGETS, filesOf, readArguments, TARGETS } from "../../scripts/fuzz/targets.mjs";

describe("the arguments of npm run test:fuzz", () => {
  it("give each target an equal share of the minutes", () => {
    expect(readArguments(["6"])).toEqual({ seconds: 360 / TARGETS.length, targets: TARGETS });
    expect(readArguments(["0.5", "sql", "ipc"])).toEqual({ seconds: 15, targets: ["ipc", "sql"] });
  });

  it.each([[[]], [["0"]], [["-1"]], [["ipc"]], [["Infinity"]]])(
    "are rejected without minutes: %j",
    (args) => {
      expect(() => readArguments(args)).toThrow(/^pass the minutes to fuzz/);
    },
  );

  it("are rejected for an unknown target", () => {
    expect(() => readArguments(["1", "sql", "csv"])).toThrow(/^"csv" is not a target/);
  });
});

describe("the output of libFuzzer", () => {
  it("has the number of runs and the coverage", () => {
    const output = [
      "#2\tINITED cov: 10 ft: 11 corp: 1/1b exec/s: 0 rss: 30Mb",
      "#4096\tpulse  cov: 120 ft: 340 corp: 7/90b lim: 4 exec/s: 2048 rss: 40Mb",
    ].join("\n");
    expect(progressOf(output)).toEqual({ runs: 4096, coverage: "120 branches, 340 features" });
    const end = `${output}\nstat::number_of_executed_units: 5000\n`;
    expect(progressOf(end).runs).toBe(5000);
    expect(progressOf("")).toEqual({ runs: 0, coverage: "0 branches, 0 features" });
  });
});

describe("a target of the engine", () => {
  it.each(ENGINE_TARGETS)("%s has examples and a dictionary", (target) => {
    const { examples, dictionary } = filesOf(target);
    expect(readdirSync(examples).length).toBeGreaterThan(9);
    expect(existsSync(dictionary)).toBe(true);
  });
});
