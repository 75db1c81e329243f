import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../build/paths.mjs";
import { command } from "./command.mjs";
import { noTests, reportCounts, withExitCode } from "./counts.mjs";
import { COUNTS_FILE } from "./vitest-counts.mjs";

/**
 * Node 20 reads the certificates of this file at each start, which can take longer than all other steps of its start.
 * The tests start thousands of processes, and none of them connects to another host.
 */
const WITHOUT_CERTIFICATES = { NODE_EXTRA_CA_CERTS: undefined };

/** Runs vitest and prints the counts; returns the exit code of the task. */
export async function vitestTask(...args) {
  return reportCounts({ vitest: await vitest(args) });
}

/** Runs vitest and returns the counts of its tests. */
export async function vitest(args) {
  const scratch = mkdtempSync(join(tmpdir(), "joust-vitest-"));
  const counts = join(scratch, "counts.json");
  const program = join(root, "node_modules", "vitest", "vitest.mjs");
  const reporter = join(import.meta.dirname, "vitest-counts.mjs");
  const reporters = ["--reporter=default", `--reporter=${reporter}`];
  try {
    const code = await command(process.execPath, [program, "run", ...reporters, ...args], {
      env: { ...WITHOUT_CERTIFICATES, [COUNTS_FILE]: counts },
    });
    return withExitCode(readCounts(counts), code);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** A run that ended early wrote no counts: its exit code is the failure. */
function readCounts(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return noTests;
  }
}
