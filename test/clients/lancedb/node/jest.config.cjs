/**
 * Runs LanceDB's own Node suite, in the checkout that JOUST_SUITE_CHECKOUT names, on the published SDK
 * instead of the checkout's sources, which would have to be compiled.
 */
const { dirname, join } = require("node:path");

const sdk = dirname(require.resolve("@lancedb/lancedb"));

module.exports = {
  rootDir: join(process.env.JOUST_SUITE_CHECKOUT, "nodejs"),
  roots: ["<rootDir>/__test__"],
  testEnvironment: "node",
  transform: {
    "\\.ts$": [
      require.resolve("ts-jest"),
      {
        diagnostics: false,
        isolatedModules: true,
        tsconfig: {
          target: "es2022",
          module: "commonjs",
          esModuleInterop: true,
          allowJs: true,
          experimentalDecorators: true,
          emitDecoratorMetadata: true,
        },
      },
    ],
  },
  moduleNameMapper: { "^(?:\\.\\./)+(?:lancedb|dist)(/.*)?$": `${sdk}$1` },
  modulePaths: [join(__dirname, "node_modules")],
  setupFilesAfterEnv: [join(__dirname, "connect.cjs")],
  testTimeout: 60_000,
  haste: { enableSymlinks: false },
};
