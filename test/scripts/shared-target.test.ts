import { mkdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { claimTarget } from "../../scripts/build/shared-target.mjs";
import { removeDir, tempDir } from "../harness/temp.js";

const longAgo = new Date(2001, 1, 1);

it("the sources of a checkout count as changed only after another checkout has compiled", () => {
  const dir = tempDir("take-over");
  onTestFinished(() => removeDir(dir));
  const source = (checkout: string) => join(dir, checkout, "crates", "a", "src", "lib.rs");
  for (const checkout of ["one", "two"]) {
    mkdirSync(join(dir, checkout, "crates", "a", "src"), { recursive: true });
    writeFileSync(source(checkout), "");
  }
  const isNew = (checkout: string) => {
    const file = source(checkout);
    utimesSync(file, longAgo, longAgo);
    claimTarget(join(dir, "target"), join(dir, checkout));
    return statSync(file).mtime > longAgo;
  };
  expect(isNew("one")).toBe(true);
  expect(isNew("one")).toBe(false);
  expect(isNew("two")).toBe(true);
  expect(isNew("two")).toBe(false);
  expect(isNew("one")).toBe(true);
});
