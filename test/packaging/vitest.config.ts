import { defineConfig } from "vitest/config";

/** What joust is delivered in. Each file has an npm script of its own: it needs tools that joust does not. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    testTimeout: 120_000,
    hookTimeout: 600_000,
    fileParallelism: false,
  },
});
