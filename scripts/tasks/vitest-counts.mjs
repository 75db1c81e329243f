import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import { root } from "../build/paths.mjs";

/** The environment variable with the path of the file that `VitestCounts` writes. */
export const COUNTS_FILE = "JOUST_VITEST_COUNTS";

/**
 * A reporter of vitest that writes the counts and failures of a run as JSON. The JSON reporter of vitest omits failed
 * hooks of a suite and errors outside of a test; vitest ends with exit code 1 for both.
 */
export default class VitestCounts {
  onTestRunEnd(modules, unhandledErrors) {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const inState = (state) => tests.filter((test) => test.result().state === state);
    const failures = [
      ...inState("failed").map((test) => failure(test.module, test.fullName, test.result().errors)),
      ...modules.flatMap(failedSuites),
      ...unhandledErrors.map((error) => `an error outside of a test: ${brief(error)}`),
    ];
    const counts = {
      passed: inState("passed").length,
      failed: failures.length,
      skipped: inState("skipped").length,
      failures,
    };
    writeFileSync(process.env[COUNTS_FILE], JSON.stringify(counts));
  }
}

/** The file and its `describe` blocks whose loading or hooks failed. */
function failedSuites(module) {
  const suites = [...module.children.allSuites()];
  return [
    ...(module.errors().length > 0 ? [failure(module, "the file", module.errors())] : []),
    ...suites
      .filter((suite) => suite.errors().length > 0)
      .map((suite) => failure(module, suite.fullName, suite.errors())),
  ];
}

function failure(module, name, [error]) {
  return `${relative(root, module.moduleId)}: ${name}: ${brief(error)}`;
}

/** The first line of an error and its location. */
function brief(error) {
  const message = error.stack ?? error.message;
  const place = /[\w.-]+\.test\.ts:\d+/.exec(message);
  return `${message.trim().split("\n", 1)[0]}${place ? ` (${place[0]})` : ""}`;
}
