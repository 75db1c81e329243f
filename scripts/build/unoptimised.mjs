/** The crates of the workspace whose optimisation takes minutes. */
export const SLOW = ["joust-core", "joust-node"];

/** These and the crate that compiles their futures again, in builds that no server uses. */
export const SLOW_IN_TESTS = [...SLOW, "joust-fuzz"];

/** Whether to compile the addon without optimisation: for tests, never for benchmarks. */
export const wantsUnoptimised = () => process.env.JOUST_UNOPTIMISED === "1";

/**
 * Cargo flags that compile these crates without optimisation, in a fifth of the time. Dependencies remain those
 * of the release build, and the release build stays valid.
 */
export const unoptimised = (...crates) =>
  crates.flatMap((name) => ["--config", `profile.release.package.${name}.opt-level=0`]);
