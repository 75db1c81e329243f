import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/harness/longest-first.js";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/clients/**"],
    globalSetup: ["test/harness/built.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // A file waits for its own server half of the time, so that two cores have room for three.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
  },
});
