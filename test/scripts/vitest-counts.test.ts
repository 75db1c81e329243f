import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { root } from "../../scripts/build/paths.mjs";
import type { Counts } from "../../scripts/tasks/counts.mjs";
import { COUNTS_FILE } from "../../scripts/tasks/vitest-counts.mjs";

const program = join(root, "node_modules", "vitest", "vitest.mjs");
const reporter = join(root, "scripts", "tasks", "vitest-counts.mjs");

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "joust-counts-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** The counts of a run of one test file. A failure starts with the name of the file, not with its folder. */
function countsOf(text: string): Counts {
  writeFileSync(join(folder, "rows.test.ts"), text);
  const file = join(folder, "counts.json");
  spawnSync(
    process.execPath,
    [program, "run", "--root", folder, "--globals", `--reporter=${reporter}`],
    {
      env: { ...process.env, [COUNTS_FILE]: file },
    },
  );
  const counts = JSON.parse(readFileSync(file, "utf8")) as Counts;
  return { ...counts, failures: counts.failures.map((text) => text.replace(/^\S+\/(?=rows)/, "")) };
}

describe("the counts of a run of vitest", () => {
  it("name each failed test", () => {
    const counts = countsOf(`
      describe("a merge", () => {
        it("adds rows", () => {});
        it("counts", () => { expect(1).toBe(2); });
        it.skipIf(true)("is slow", () => {});
        it.todo("is fast");
      });`);
    const error = "AssertionError: expected 1 to be 2 // Object.is equality (rows.test.ts:4)";
    const failures = [`rows.test.ts: a merge > counts: ${error}`];
    expect(counts).toEqual({ passed: 1, failed: 1, skipped: 2, failures });
  });

  it("include a file that does not load", () => {
    const counts = countsOf('throw new Error("no table");');
    const failures = ["rows.test.ts: the file: Error: no table (rows.test.ts:1)"];
    expect(counts).toEqual({ passed: 0, failed: 1, skipped: 0, failures });
  });

  it("include a failed hook of a file whose tests passed", () => {
    const counts = countsOf(`
      afterAll(() => { throw new Error("no end"); });
      it("adds rows", () => {});`);
    const failures = ["rows.test.ts: the file: Error: no end (rows.test.ts:2)"];
    expect(counts).toEqual({ passed: 1, failed: 1, skipped: 0, failures });
  });

  it("include a failed hook of a block", () => {
    const counts = countsOf(`
      describe("a merge", () => {
        beforeAll(() => { throw new Error("no start"); });
        it("adds rows", () => {});
      });`);
    const failures = ["rows.test.ts: a merge: Error: no start (rows.test.ts:3)"];
    expect(counts).toEqual({ passed: 0, failed: 1, skipped: 1, failures });
  });

  it("include an error outside of a test", () => {
    const counts = countsOf(`
      it("adds rows", async () => {
        Promise.reject(new Error("no handler"));
        await new Promise((resolve) => setTimeout(resolve, 50));
      });`);
    const failures = ["an error outside of a test: Error: no handler (rows.test.ts:3)"];
    expect(counts).toEqual({ passed: 1, failed: 1, skipped: 0, failures });
  });
});
