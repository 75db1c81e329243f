import { relative } from "node:path";
import { root } from "../build/paths.mjs";

/** How many tests of a suite passed, failed and were skipped; a line for each that failed. */
export const nothing = { passed: 0, failed: 0, skipped: 0, failures: [] };

export function add(a, b) {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    failures: [...a.failures, ...b.failures],
  };
}

/** Prints what .ci/run ends with: the suite's counts, by which it adds the suites up, and its failures. */
export function tell(suite, counts) {
  console.log(`${suite}: ${describe(counts)}`);
  for (const failure of counts.failures) console.log(`  failed: ${failure}`);
}

/** `12 passed, 0 failed, 3 skipped`. */
function describe({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

/** A suite that ended badly without a failed test (it did not load or compile) failed once. */
export function withExitCode(counts, code) {
  if (code === 0 || counts.failed > 0) return counts;
  return add(counts, { ...nothing, failed: 1, failures: [`the suite, with exit code ${code}`] });
}

/** From cargo's output: the sums of its `test result:` lines. */
export function cargoCounts(output) {
  const results = output.matchAll(/^test result: .* (\d+) passed; (\d+) failed; (\d+) ignored/gm);
  const failures = [...output.matchAll(/^test (.+) \.\.\. FAILED$/gm)].map(([, name]) => {
    const panic = output.split(`\nthread '${name}' `)[1]?.match(/panicked at (.+):\n(.*)/);
    return panic ? `${name}: ${panic[2]} (${panic[1]})` : name;
  });
  return [...results]
    .map(([, ...numbers]) => {
      const [passed, failed, skipped] = numbers.map(Number);
      return { ...nothing, passed, failed, skipped };
    })
    .reduce(add, { ...nothing, failures });
}

/** From vitest's JSON report. A file that does not load is a failed suite without tests. */
export function vitestCounts(report) {
  const files = report.testResults.filter((file) => file.status === "failed");
  const broken = files.filter((file) => file.assertionResults.length === 0);
  const failed = files.flatMap((file) =>
    file.assertionResults
      .filter((test) => test.status === "failed")
      .map((test) => `${relative(root, file.name)}: ${test.fullName}: ${brief(test)}`),
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + broken.length,
    skipped: report.numPendingTests + report.numTodoTests,
    failures: [
      ...failed,
      ...broken.map((file) => `${relative(root, file.name)}: ${firstLine(file.message)}`),
    ],
  };
}

/** What a test failed with, and where. */
function brief({ failureMessages: [message = ""] }) {
  const place = /[\w.-]+\.test\.ts:\d+/.exec(message);
  return `${firstLine(message)}${place ? ` (${place[0]})` : ""}`;
}

const firstLine = (text) => text.trim().split("\n", 1)[0];

/** From pytest's last line: `3 failed, 12 passed, 1 skipped in 4.2s`; an error counts as failed. */
export function pytestCounts(output) {
  const last = output.trimEnd().split("\n").at(-1) ?? "";
  const count = (word) => Number(new RegExp(`(\\d+) ${word}`).exec(last)?.[1] ?? 0);
  return {
    passed: count("passed"),
    failed: count("failed") + count("errors?"),
    skipped: count("skipped"),
    failures: [...output.matchAll(/^(?:FAILED|ERROR) (\S+::.+)$/gm)].map(([, failure]) => failure),
  };
}

/** From Surefire's last summary: `Tests run: 12, Failures: 1, Errors: 0, Skipped: 0`. */
export function surefireCounts(output) {
  const sums = output.matchAll(/Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)/g);
  const [run, wrong, errors, skipped] = [...sums].at(-1)?.slice(1).map(Number) ?? [0, 0, 0, 0];
  const failed = wrong + errors;
  const failures = [...output.matchAll(/^\[ERROR\] {3}(.+)$/gm)].map(([, failure]) => failure);
  return { passed: run - failed - skipped, failed, skipped, failures };
}
