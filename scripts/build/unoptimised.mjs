/** The crates of the workspace that take minutes to optimise. */
export const SLOW = ["joust-core", "joust-node"];

/** Whether the addon is to be compiled in a minute rather than to be fast: for tests, never for figures. */
export const wantsUnoptimised = () => process.env.JOUST_UNOPTIMISED === "1";

/**
 * Cargo flags that compile some of the workspace's crates without optimisation, in a fifth of the
 * time. Dependencies stay those of the release build, and the release build stays as it is.
 */
export const unoptimised = (...crates) =>
  crates.flatMap((name) => ["--config", `profile.release.package.${name}.opt-level=0`]);
