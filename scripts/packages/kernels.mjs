import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/**
 * The C kernels of lance-linalg 14, with the functions that Rust calls. Its build script compiles a kernel only if
 * the C compiler supports the instructions, and prints a warning otherwise. The feature `fp16kernels` adds kernels
 * for f16 and bf16; joust does not use it, and Rust code does their work.
 */
export const KERNELS = {
  // Sums for 4-bit product quantization, with AVX-512.
  avx512_dist_table: ["sum_4bit_dist_table_32bytes_batch_avx512"],
  // Dot products of f16 with AMX: clang 16 or gcc 13 and newer.
  amx_fp16: ["lance_amx_dot_f16_batch_16", "lance_amx_dot_f16_gemm", "lance_amx_fp16_request_perm"],
};

/** The prefix of all kernel functions of lance-linalg, including `fp16kernels`. */
const KERNEL_FUNCTION = /^(?:sum_4bit_dist_table_|lance_amx_|(?:norm_l2|dot|l2|cosine)_b?f16_)/;

/** The kernels that a published addon must contain, by the name of the platform in napi. */
export function expectedKernels(platform) {
  if (platform.startsWith("linux-x64-")) return ["amx_fp16", "avx512_dist_table"];
  return platform === "darwin-x64" ? ["avx512_dist_table"] : [];
}

/**
 * The kernels of an addon.
 *
 * @param {string} symbols the output of `nm`
 * @returns {string[] | undefined} undefined if the addon is stripped
 */
export function kernelsOfSymbols(symbols) {
  // On macOS a stripped addon retains its exported symbols. The symbols of the kernels are local.
  const local = [...symbols.matchAll(/^[0-9a-f]+ t _?(\S+)$/gm)].map(([, name]) => name);
  if (local.length === 0) return undefined;
  const functions = new Set(local.filter((name) => KERNEL_FUNCTION.test(name)));
  const complete = Object.entries(KERNELS).filter(([, names]) =>
    names.every((name) => functions.has(name)),
  );
  for (const [, names] of complete) for (const name of names) functions.delete(name);
  // The remaining functions belong to an unknown or an incomplete kernel.
  return [...complete.map(([kernel]) => kernel), ...functions].sort();
}

/**
 * The kernels that a build script compiled.
 *
 * @param {string} output of the build script of lance-linalg for cargo
 */
export function kernelsOfBuild(output) {
  const kernels = output.matchAll(/^cargo::?rustc-cfg=kernel_support="(\w+)"$/gm);
  return [...new Set([...kernels].map(([, kernel]) => kernel))].sort();
}

/**
 * The kernels of a compiled addon, from its symbols. For a stripped addon, from the output of the last build of
 * lance-linalg with this profile.
 *
 * @param {string} addon
 * @param {string} profileDir the directory of cargo for the profile
 */
export function compiledKernels(addon, profileDir) {
  const symbols = execFileSync("nm", [addon], {
    encoding: "utf8",
    maxBuffer: 2 ** 30,
    stdio: ["ignore", "pipe", "ignore"],
  });
  return kernelsOfSymbols(symbols) ?? kernelsOfBuild(buildOutput(profileDir));
}

function buildOutput(profileDir) {
  const builds = join(profileDir, "build");
  const outputs = (existsSync(builds) ? readdirSync(builds) : [])
    .filter((name) => name.startsWith("lance-linalg-"))
    .map((name) => join(builds, name, "output"))
    .filter((file) => existsSync(file))
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  if (outputs.length === 0) {
    throw new Error(
      `the kernels of the addon are unknown: it has no symbols, and ${builds} has no output of lance-linalg`,
    );
  }
  return readFileSync(outputs[0], "utf8");
}

/** The differences of two lists of kernels; empty if they are equal. */
export function kernelFaults(compiled, expected) {
  const dropped = expected.filter((kernel) => !compiled.includes(kernel));
  const added = compiled.filter((kernel) => !expected.includes(kernel));
  return [
    ...dropped.map(
      (kernel) =>
        `the SIMD kernel ${kernel} is missing: set CC or LANCE_AMX_FP16_CC to clang 16, gcc 13 or newer`,
    ),
    ...added.map(
      (kernel) => `${kernel} is not in the list of SIMD kernels in scripts/packages/kernels.mjs`,
    ),
  ];
}
