/** Rust's names of the platforms that can be compiled for, with npm's. */
const PLATFORMS = {
  "x86_64-unknown-linux-gnu": "linux-x64-gnu",
  "aarch64-unknown-linux-gnu": "linux-arm64-gnu",
  "x86_64-unknown-linux-musl": "linux-x64-musl",
  "aarch64-unknown-linux-musl": "linux-arm64-musl",
  "x86_64-apple-darwin": "darwin-x64",
  "aarch64-apple-darwin": "darwin-arm64",
};

/**
 * What JOUST_TARGET names: a target of Rust, for Linux with the glibc to link against, as cargo-zigbuild takes
 * it (`aarch64-unknown-linux-gnu.2.28`). Without one the addon needs the glibc of the machine that compiles it.
 *
 * @param {string | undefined} name
 */
export function parseTarget(name) {
  if (!name) return undefined;
  const [, triple, glibc] = /^(.*?)(?:\.(\d+\.\d+))?$/.exec(name) ?? [];
  const platform = PLATFORMS[triple];
  if (platform === undefined || (glibc !== undefined && !triple.endsWith("-linux-gnu"))) {
    throw new Error(
      `JOUST_TARGET is "${name}": it must be one of ${Object.keys(PLATFORMS).join(", ")}, those of Linux with glibc optionally with its version, as x86_64-unknown-linux-gnu.2.28`,
    );
  }
  return { name, triple, glibc, platform };
}

/**
 * How cargo compiles for a target. Another glibc or architecture takes zig's C compiler and linker: install
 * `cargo-zigbuild` and `ziglang`, both from PyPI.
 *
 * @param {ReturnType<typeof parseTarget>} target
 */
export function cargoBuild(target) {
  if (target === undefined) return ["build"];
  const isLinux = target.triple.includes("-linux-");
  return [isLinux ? "zigbuild" : "build", "--target", target.name];
}
