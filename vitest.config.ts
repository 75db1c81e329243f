import { defineConfig } from "vitest/config";
import { allBuilds, loadUws } from "./src/http/transport/uws/load.js";
import { LongestFirst } from "./test/harness/longest-first.js";

export default defineConfig({
  test: {
    exclude: ["test/clients/**", "test/packaging/**"],
    globalSetup: ["test/harness/built.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // A test file waits for its server half of the time: two cores can run three files.
    maxWorkers: 3,
    // A new process and new modules for each file took a quarter of the time. A test undoes in a hook what it changes in the process.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: "joust",
          include: ["test/**/*.test.ts"],
          env: { JOUST_TEST_HTTP: uwsLoads() ? "uws" : "node" },
        },
      },
      {
        extends: true,
        test: {
          // The same tests with the other transport: see test/harness/server.ts.
          name: "node-http",
          include: ["test/http/*.test.ts", "test/http/streams/*.test.ts"],
          env: { JOUST_TEST_HTTP: "node" },
        },
      },
    ],
  },
});

function uwsLoads() {
  try {
    return loadUws(allBuilds) !== undefined;
  } catch {
    return false;
  }
}
