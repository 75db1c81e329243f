/** How many tests of a suite passed, failed and were skipped. */
export const nothing = { passed: 0, failed: 0, skipped: 0 };

export function add(a, b) {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
  };
}

/** `12 passed, 0 failed, 3 skipped`: the form in which .ci/run adds the suites up. */
export function describe({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

/** A suite that ended badly without a failed test (it did not load or compile) failed once. */
export function withExitCode(counts, code) {
  return code !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
}

/** Sums the `test result:` lines of cargo's output. */
export function cargoCounts(output) {
  const results = output.matchAll(/^test result: .* (\d+) passed; (\d+) failed; (\d+) ignored/gm);
  return [...results]
    .map(([, passed, failed, skipped]) => ({
      passed: Number(passed),
      failed: Number(failed),
      skipped: Number(skipped),
    }))
    .reduce(add, nothing);
}

/** From vitest's JSON report. A file that does not load is a failed suite without tests. */
export function vitestCounts(report) {
  const broken = report.testResults.filter(
    (file) => file.status === "failed" && file.assertionResults.length === 0,
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + broken.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

/** From pytest's last line: `3 failed, 12 passed, 1 skipped in 4.2s`; an error counts as failed. */
export function pytestCounts(output) {
  const last = output.trimEnd().split("\n").at(-1) ?? "";
  const count = (word) => Number(new RegExp(`(\\d+) ${word}`).exec(last)?.[1] ?? 0);
  return {
    passed: count("passed"),
    failed: count("failed") + count("errors?"),
    skipped: count("skipped"),
  };
}

/** From Surefire's last summary: `Tests run: 12, Failures: 1, Errors: 0, Skipped: 0`. */
export function surefireCounts(output) {
  const sums = output.matchAll(/Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)/g);
  const [run, failures, errors, skipped] = [...sums].at(-1)?.slice(1).map(Number) ?? [0, 0, 0, 0];
  const failed = failures + errors;
  return { passed: run - failed - skipped, failed, skipped };
}
