import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    globalSetup: ["../../harness/built.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Each file runs a server and an SDK: two at a time fit on two cores.
    maxWorkers: 2,
  },
});
