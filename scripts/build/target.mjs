/** The supported targets of Rust, with the names of their platforms in npm. */
const PLATFORMS = {
  "x86_64-unknown-linux-gnu": "linux-x64-gnu",
  "aarch64-unknown-linux-gnu": "linux-arm64-gnu",
  "x86_64-unknown-linux-musl": "linux-x64-musl",
  "aarch64-unknown-linux-musl": "linux-arm64-musl",
  "x86_64-apple-darwin": "darwin-x64",
  "aarch64-apple-darwin": "darwin-arm64",
};

/**
 * Parses JOUST_TARGET: a target of Rust, for Linux optionally with the version of glibc to link against, as for
 * cargo-zigbuild (`aarch64-unknown-linux-gnu.2.28`). Without a version the addon needs the glibc of the build
 * machine.
 *
 * @param {string | undefined} name
 */
export function parseTarget(name) {
  if (!name) return undefined;
  const [, triple, glibc] = /^(.*?)(?:\.(\d+\.\d+))?$/.exec(name) ?? [];
  const platform = PLATFORMS[triple];
  if (platform === undefined || (glibc !== undefined && !triple.endsWith("-linux-gnu"))) {
    throw new Error(
      `JOUST_TARGET is "${name}": set it to one of ${Object.keys(PLATFORMS).join(", ")}; a -linux-gnu target may end with a version of glibc, as in x86_64-unknown-linux-gnu.2.28`,
    );
  }
  return { name, triple, glibc, platform };
}

/**
 * The environment of cargo for a target. For musl Rust links libc statically by default, and then it cannot make a
 * library that Node loads.
 *
 * @param {ReturnType<typeof parseTarget>} target
 */
export function cargoEnvironment(target) {
  if (!target?.triple.endsWith("-musl")) return {};
  const name = target.triple.toUpperCase().replaceAll("-", "_");
  return { [`CARGO_TARGET_${name}_RUSTFLAGS`]: "-C target-feature=-crt-static" };
}

/**
 * The arguments of cargo for a target. For Linux it uses the C compiler and linker of zig: install `cargo-zigbuild`
 * and `ziglang` from PyPI.
 *
 * @param {ReturnType<typeof parseTarget>} target
 */
export function cargoBuild(target) {
  if (target === undefined) return ["build"];
  const isLinux = target.triple.includes("-linux-");
  return [isLinux ? "zigbuild" : "build", "--target", target.name];
}
