import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/**
 * The kernels in C that lance-linalg 14 has, with the functions that Rust calls. Its build script compiles
 * each only where the C compiler knows the instructions, and reports no more than a warning otherwise. With
 * the feature `fp16kernels` it has more (f16 and bf16), which joust does not use: Rust code does their work.
 */
export const KERNELS = {
  // Sums of 4-bit product quantisation, with AVX-512.
  avx512_dist_table: ["sum_4bit_dist_table_32bytes_batch_avx512"],
  // Dot products of f16 with AMX: clang 16 or gcc 13 and newer.
  amx_fp16: ["lance_amx_dot_f16_batch_16", "lance_amx_dot_f16_gemm", "lance_amx_fp16_request_perm"],
};

/** What begins the names of all functions of lance-linalg's kernels, those of `fp16kernels` included. */
const OF_A_KERNEL = /^(?:sum_4bit_dist_table_|lance_amx_|(?:norm_l2|dot|l2|cosine)_b?f16_)/;

/** The kernels that a published addon has, by `napi`'s name of the platform. */
export function expectedKernels(platform) {
  if (platform.startsWith("linux-x64-")) return ["amx_fp16", "avx512_dist_table"];
  return platform === "darwin-x64" ? ["avx512_dist_table"] : [];
}

/**
 * The kernels of an addon.
 *
 * @param {string} symbols what `nm` prints of it
 * @returns {string[] | undefined} undefined when its symbols were stripped
 */
export function kernelsOfSymbols(symbols) {
  // Of a stripped addon macOS keeps the exported symbols. Those of the kernels are local.
  const local = [...symbols.matchAll(/^[0-9a-f]+ t _?(\S+)$/gm)].map(([, name]) => name);
  if (local.length === 0) return undefined;
  const functions = new Set(local.filter((name) => OF_A_KERNEL.test(name)));
  const whole = Object.entries(KERNELS).filter(([, names]) =>
    names.every((name) => functions.has(name)),
  );
  for (const [, names] of whole) for (const name of names) functions.delete(name);
  // A function that is left belongs to a kernel of which this list knows nothing, or to a part of one.
  return [...whole.map(([kernel]) => kernel), ...functions].sort();
}

/**
 * The kernels that a build script has compiled.
 *
 * @param {string} output what lance-linalg's build script told cargo
 */
export function kernelsOfBuild(output) {
  const told = output.matchAll(/^cargo::?rustc-cfg=kernel_support="(\w+)"$/gm);
  return [...new Set([...told].map(([, kernel]) => kernel))].sort();
}

/**
 * The kernels of a compiled addon: by its symbols, or where those were stripped by what lance-linalg's last
 * build of the profile reported.
 *
 * @param {string} addon
 * @param {string} profileDir cargo's directory of the profile
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
      `the addon has no symbols and ${builds} has no output of lance-linalg: which kernels it has is not known`,
    );
  }
  return readFileSync(outputs[0], "utf8");
}

/** How two lists of kernels differ; empty when they are equal. */
export function kernelFaults(compiled, expected) {
  const dropped = expected.filter((kernel) => !compiled.includes(kernel));
  const added = compiled.filter((kernel) => !expected.includes(kernel));
  return [
    ...dropped.map(
      (kernel) =>
        `the SIMD kernel ${kernel} is missing: compile with clang 16, gcc 13 or newer (CC, or LANCE_AMX_FP16_CC)`,
    ),
    ...added.map(
      (kernel) => `${kernel} is not in the list of SIMD kernels in scripts/packages/kernels.mjs`,
    ),
  ];
}
