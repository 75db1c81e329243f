/**
 * The npm packages that the bundle contains, so that an installation does not load their many modules one by one, by the
 * file in `dist/chunks/` that has them. Each is listed with the packages that it loads itself. npm does not install them:
 * they are in `devDependencies`, or needed only by packages there.
 */
export const PACKAGE_CHUNKS = {
  kysely: ["kysely"],
  typebox: ["@sinclair/typebox"],
  pino: [
    "pino",
    "@pinojs/redact",
    "atomic-sleep",
    "on-exit-leak-free",
    "pino-std-serializers",
    "quick-format-unescaped",
    "safe-stable-stringify",
    "sonic-boom",
    "thread-stream",
  ],
  "prom-client": ["prom-client", "@opentelemetry/api", "bintrees", "tdigest"],
  tools: ["ms", "p-limit", "smol-toml", "uuid", "yocto-queue"],
};

export const BUNDLED = Object.values(PACKAGE_CHUNKS).flat();

/**
 * Packages of the bundle that npm installs too, because other packages need them. `@opentelemetry/api` keeps its state in
 * `globalThis`, so its two copies have the same.
 */
export const ALSO_INSTALLED = ["@opentelemetry/api"];
