import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    globalSetup: ["../../harness/built.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A server and an SDK runtime for each file: two at a time is what two cores carry.
    maxWorkers: 2,
  },
});
