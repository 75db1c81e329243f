import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { findProgram, whenInstalled } from "../../scripts/tasks/when-installed.mjs";
import { removeDir, tempDir } from "../harness/temp.js";

const folder = tempDir("programs");
afterEach(() => removeDir(folder));

it("findProgram returns the first executable file with the name", () => {
  const [first, second] = ["first", "second"].map((name) => join(folder, name)) as [string, string];
  for (const bin of [first, second]) {
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, "joust-check"), "#!/bin/sh\n");
  }
  chmodSync(join(second, "joust-check"), 0o755);
  const path = [first, second].join(delimiter);
  expect(findProgram("joust-check", path)).toBe(join(second, "joust-check"));
  expect(findProgram("joust-other-check", path)).toBeUndefined();
});

it("whenInstalled prints what is missing if a check cannot run", async () => {
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  expect(await whenInstalled("joust-other-check", [], "install it so")).toBe(0);
  expect(log.mock.calls).toEqual([["skipped: joust-other-check is not installed (install it so)"]]);
  log.mockRestore();
});
