import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/clients/**"],
    globalSetup: ["test/harness/built.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Each file starts its own server process; more files at once than cores only add noise.
    maxWorkers: 2,
  },
});
