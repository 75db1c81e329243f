import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../build/paths.mjs";
import { command } from "./command.mjs";
import { noTests, reportCounts, vitestCounts, withExitCode } from "./counts.mjs";

/** Runs vitest and prints the counts; returns the exit code of the task. */
export async function vitestTask(...args) {
  return reportCounts({ vitest: await vitest(args) });
}

/** Runs vitest and returns the counts of its tests. */
export async function vitest(args, options) {
  const scratch = mkdtempSync(join(tmpdir(), "joust-vitest-"));
  const report = join(scratch, "report.json");
  const program = join(root, "node_modules", "vitest", "vitest.mjs");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  try {
    const code = await command(process.execPath, [program, "run", ...reporters, ...args], options);
    return withExitCode(readCounts(report), code);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function readCounts(report) {
  try {
    return vitestCounts(JSON.parse(readFileSync(report, "utf8")));
  } catch {
    return noTests;
  }
}
