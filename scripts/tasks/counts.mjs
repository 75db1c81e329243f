/**
 * The counts of a suite, and a line for each failed test.
 *
 * @typedef {{ passed: number, failed: number, skipped: number, failures: string[] }} Counts
 */

/** @type {Counts} */
export const noTests = { passed: 0, failed: 0, skipped: 0, failures: [] };

export function add(a, b) {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    failures: [...a.failures, ...b.failures],
  };
}

/** Prints the counts and failures of a suite in the format that .ci/run reads. */
export function printCounts(suite, counts) {
  console.log(`${suite}: ${describe(counts)}`);
  for (const failure of counts.failures) console.log(`  failed: ${failure}`);
}

/**
 * Prints the counts of suites at the end of a task.
 *
 * @returns {number} the exit code of the task
 */
export function reportCounts(suites) {
  console.log();
  for (const [suite, counts] of Object.entries(suites)) printCounts(suite, counts);
  return Object.values(suites).some(({ failed }) => failed > 0) ? 1 : 0;
}

/** `12 passed, 0 failed, 3 skipped`. */
function describe({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

/** Counts one failure for a suite with an exit code but no failed test: it did not load or compile. */
export function withExitCode(counts, code) {
  if (code === 0 || counts.failed > 0) return counts;
  return add(counts, { ...noTests, failed: 1, failures: [`the suite, with exit code ${code}`] });
}

/** Counts one failure for a suite that ran no test: an empty or missing report is no success. */
export function withSomeTest(counts) {
  if (counts.passed + counts.failed > 0) return counts;
  return add(counts, { ...noTests, failed: 1, failures: ["the suite ran no test"] });
}

/** The sums of the `test result:` lines of cargo. */
export function cargoCounts(output) {
  const results = output.matchAll(/^test result: .* (\d+) passed; (\d+) failed; (\d+) ignored/gm);
  const failures = [...output.matchAll(/^test (.+) \.\.\. FAILED$/gm)].map(([, name]) => {
    const panic = output.split(`\nthread '${name}' `)[1]?.match(/panicked at (.+):\n(.*)/);
    return panic ? `${name}: ${panic[2]} (${panic[1]})` : name;
  });
  return [...results]
    .map(([, ...numbers]) => {
      const [passed, failed, skipped] = numbers.map(Number);
      return { ...noTests, passed, failed, skipped };
    })
    .reduce(add, { ...noTests, failures });
}

/** The counts of the last line of pytest, `3 failed, 12 passed, 1 skipped in 4.2s`. An error counts as failed. */
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

/** The counts of the last summary of Surefire: `Tests run: 12, Failures: 1, Errors: 0, Skipped: 0`. */
export function surefireCounts(output) {
  const sums = output.matchAll(/Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)/g);
  const [run, wrong, errors, skipped] = [...sums].at(-1)?.slice(1).map(Number) ?? [0, 0, 0, 0];
  const failed = wrong + errors;
  const failures = [...output.matchAll(/^\[ERROR\] {3}(.+)$/gm)].map(([, failure]) => failure);
  return { passed: run - failed - skipped, failed, skipped, failures };
}

/** The counts of a JUnit report with a test case for each operation. An error counts as failed. */
export function junitCounts(report) {
  const cases = report.split("<testcase ").slice(1);
  const failed = cases.filter((text) => /<(?:failure|error)\b/.test(text));
  const skipped = cases.filter((text) => !failed.includes(text) && /<skipped\b/.test(text)).length;
  const passed = cases.length - failed.length - skipped;
  const failures = failed.map(
    (text) => `${/name="([^"]*)"/.exec(text)?.[1]}: ${firstProblem(text)}`,
  );
  return { passed, failed: failed.length, skipped, failures };
}

/** The title of the first problem, such as `Server error`. */
function firstProblem(text) {
  return /^\s*- (.+)$/m.exec(text)?.[1] ?? "see the output of the suite";
}
