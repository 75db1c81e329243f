import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/build/paths.mjs";
import {
  cargoCounts,
  noTests,
  pytestCounts,
  surefireCounts,
  vitestCounts,
  withExitCode,
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

  it("are read from vitest, including files that did not load", () => {
    const message = "AssertionError: expected 1 to be 2\n    at /x/test/rows/merge.test.ts:7:15";
    const report = {
      numPassedTests: 3,
      numFailedTests: 1,
      numPendingTests: 1,
      numTodoTests: 0,
      testResults: [
        {
          name: join(root, "test", "rows", "merge.test.ts"),
          status: "failed",
          message: "",
          assertionResults: [
            { status: "passed", fullName: "a merge adds rows", failureMessages: [] },
            { status: "failed", fullName: "a merge counts", failureMessages: [message] },
          ],
        },
        { name: join(root, "a.test.ts"), status: "failed", message: "no\nw", assertionResults: [] },
        { name: join(root, "b.test.ts"), status: "passed", message: "", assertionResults: [] },
      ],
    };
    expect(vitestCounts(report)).toEqual({
      passed: 3,
      failed: 2,
      skipped: 1,
      failures: [
        "test/rows/merge.test.ts: a merge counts: AssertionError: expected 1 to be 2 (merge.test.ts:7)",
        "a.test.ts: no",
      ],
    });
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
});
