import { defineConfig } from "vitest/config";

/** Tests of the deliverables. Each file has a separate npm script, because it needs additional tools. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    testTimeout: 120_000,
    hookTimeout: 600_000,
    fileParallelism: false,
  },
});
