import { describe, expect, it } from "vitest";
import {
  cargoCounts,
  junitCounts,
  noTests,
  pytestCounts,
  surefireCounts,
  withExitCode,
  withSomeTest,
} from "../../scripts/tasks/counts.mjs";

describe("the test counts of a suite", () => {
  it("are read from cargo test", () => {
    const output = `
test appends::one ... ok
test appends::two ... FAILED

failures:

---- appends::two stdout ----

thread 'appends::two' (71) panicked at tests/appends.rs:12:5:
assertion failed: rows == 3
note: run with \`RUST_BACKTRACE=1\` environment variable to display a backtrace

test result: FAILED. 1 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out
test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out
`;
    expect(cargoCounts(output)).toEqual({
      passed: 5,
      failed: 1,
      skipped: 2,
      failures: ["appends::two: assertion failed: rows == 3 (tests/appends.rs:12:5)"],
    });
    expect(cargoCounts("error: could not compile")).toEqual(noTests);
  });

  it("are read from pytest", () => {
    const output = `
=========================== short test summary info ============================
FAILED test_rows.py::test_counts - assert 1 == 2
ERROR test_text.py::test_finds - OSError: gone
============== 1 failed, 12 passed, 1 skipped, 1 error in 4.20s ===============
`;
    expect(pytestCounts(output)).toEqual({
      passed: 12,
      failed: 2,
      skipped: 1,
      failures: [
        "test_rows.py::test_counts - assert 1 == 2",
        "test_text.py::test_finds - OSError: gone",
      ],
    });
  });

  it("are read from Surefire", () => {
    const output = `
[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 1 s <<< FAILURE! -- in RowsTest
[ERROR] Failures: 
[ERROR]   RowsTest.counts:12 expected: <1> but was: <2>
[ERROR] Tests run: 19, Failures: 1, Errors: 0, Skipped: 2
`;
    expect(surefireCounts(output)).toEqual({
      passed: 16,
      failed: 1,
      skipped: 2,
      failures: ["RowsTest.counts:12 expected: <1> but was: <2>"],
    });
  });

  it("are read from a JUnit report, where an error counts as failed", () => {
    const report = `<testsuite name="schemathesis">
    <testcase name="POST /v1/jobs/list" time="3.3" />
    <testcase name="POST /v1/table/{id}/drop" time="0.2">
      <skipped /><error>Network Error</error></testcase>
    <testcase name="GET /v1/table" time="0.1"><skipped /></testcase>
    <testcase name="POST /v1/sql" time="0.2">
      <failure type="failure" message="ST101">1. Test Case ID: 62T19R

- ST101 Server error

[500] Internal Server Error</failure></testcase></testsuite>`;
    expect(junitCounts(report)).toEqual({
      passed: 1,
      failed: 2,
      skipped: 1,
      failures: [
        "POST /v1/table/{id}/drop: see the output of the suite",
        "POST /v1/sql: ST101 Server error",
      ],
    });
  });

  it("include one failure if a suite exits with an error without a failed test", () => {
    expect(withExitCode(noTests, 0)).toEqual(noTests);
    const broken = {
      passed: 0,
      failed: 1,
      skipped: 0,
      failures: ["the suite, with exit code 101"],
    };
    expect(withExitCode(noTests, 101)).toEqual(broken);
    expect(withExitCode(broken, 101)).toEqual(broken);
  });

  it("include one failure if a suite has no report, or ran none of its tests", () => {
    const failures = ["the suite ran no test"];
    for (const report of ["", "<testsuites></testsuites>"]) {
      const counts = withSomeTest(junitCounts(report));
      expect(counts).toEqual({ passed: 0, failed: 1, skipped: 0, failures });
    }
    const skipped = junitCounts('<testcase name="GET /v1/table"><skipped/></testcase>');
    expect(withSomeTest(skipped)).toEqual({ passed: 0, failed: 1, skipped: 1, failures });
    const passed = junitCounts('<testcase name="GET /v1/table"></testcase>');
    expect(withSomeTest(passed)).toEqual(passed);
  });
});
