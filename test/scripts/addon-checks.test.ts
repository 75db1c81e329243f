import { describe, expect, it } from "vitest";
import { glibcNeeds, glibcSymbols } from "../../scripts/packages/glibc.mjs";
import {
  expectedKernels,
  kernelFaults,
  kernelsOfBuild,
  kernelsOfSymbols,
} from "../../scripts/packages/kernels.mjs";

describe("the glibc check", () => {
  const table = `
joust.node:     file format elf64-x86-64

DYNAMIC SYMBOL TABLE:
0000000000000000      DF *UND*	0000000000000000 (GLIBC_2.35) hypot
0000000000000000      DF *UND*	0000000000000000 (GLIBC_2.35) hypotf
0000000000000000      DF *UND*	0000000000000000 (GLIBC_2.2.5) malloc
0000000000000000  w   DF *UND*	0000000000000000 (GLIBC_2.28) statx
0000000000000000      DF *UND*	0000000000000000 (GLIBC_2.17) clock_gettime
0000000000000000      DF *UND*	0000000000000000 (GCC_3.0)    _Unwind_Resume
0000000000000000  w   D  *UND*	0000000000000000  Base        napi_create_object
0000000001234560 g    DF .text	0000000000000010  Base        napi_register_module_v1
`;

  it("reads which symbols need which version, oldest first", () => {
    expect([...glibcSymbols(table)]).toEqual([
      ["2.2.5", ["malloc"]],
      ["2.17", ["clock_gettime"]],
      ["2.28", ["statx"]],
      ["2.35", ["hypot", "hypotf"]],
    ]);
  });

  it("names the symbols above 2.28 by numeric comparison", () => {
    expect(glibcNeeds(table)).toEqual({
      newest: "2.35",
      above: ["hypot (GLIBC_2.35)", "hypotf (GLIBC_2.35)"],
    });
    const old = table.replaceAll("GLIBC_2.35", "GLIBC_2.3");
    expect(glibcNeeds(old)).toEqual({ newest: "2.28", above: [] });
    expect(glibcNeeds(old, "2.17").above).toEqual(["statx (GLIBC_2.28)"]);
  });

  it("rejects a symbol table without glibc", () => {
    expect(() => glibcNeeds("objdump: not an object")).toThrow("no symbol of glibc");
  });
});

describe("the check of SIMD kernels", () => {
  const distTable = "0000000004a81b20 t sum_4bit_dist_table_32bytes_batch_avx512";
  const amx = [
    "lance_amx_dot_f16_batch_16",
    "lance_amx_dot_f16_gemm",
    "lance_amx_fp16_request_perm",
  ];
  const others = "                 U malloc\n0000000003ec86b0 t _ZN4core9panicking5panic17hE";

  it("reads the kernels of an addon from its symbols", () => {
    expect(kernelsOfSymbols(`${others}\n${distTable}\n`)).toEqual(["avx512_dist_table"]);
    const both = [others, distTable, ...amx.map((name) => `0000000004a81b20 t ${name}`)];
    expect(kernelsOfSymbols(both.join("\n"))).toEqual(["amx_fp16", "avx512_dist_table"]);
    expect(kernelsOfSymbols(others)).toEqual([]);
    // The form of macOS.
    expect(kernelsOfSymbols(distTable.replace(" sum", " _sum"))).toEqual(["avx512_dist_table"]);
  });

  it("reports part of a kernel and an unknown kernel", () => {
    const symbols = `${distTable}\n0000000000000001 t ${amx[0]}\n0000000000000002 t dot_f16_avx512`;
    expect(kernelsOfSymbols(symbols)).toEqual([
      "avx512_dist_table",
      "dot_f16_avx512",
      "lance_amx_dot_f16_batch_16",
    ]);
  });

  it("reports nothing for stripped symbols", () => {
    expect(kernelsOfSymbols("nm: joust.node: no symbols\n")).toBeUndefined();
    const exported = "0000000001234560 T _napi_register_module_v1\n                 U _malloc\n";
    expect(kernelsOfSymbols(exported)).toBeUndefined();
  });

  it("reads the kernels that lance-linalg's build script compiled", () => {
    const output = `
cargo::rustc-check-cfg=cfg(kernel_support, values("avx512_f16", "avx512_bf16", "avx512_dist_table", "amx_fp16"))
cargo:warning=fp16kernels feature is not enabled, skipping build of fp16 kernels
cargo:rustc-cfg=kernel_support="avx512_dist_table"
cargo:warning=Skipping build of AMX-FP16 kernels. Error: no C compiler supporting -mamx-fp16 found
`;
    expect(kernelsOfBuild(output)).toEqual(["avx512_dist_table"]);
    const newer = `${output}cargo::rustc-cfg=kernel_support="amx_fp16"\n`;
    expect(kernelsOfBuild(newer)).toEqual(["amx_fp16", "avx512_dist_table"]);
  });

  it("fails for a missing kernel and for an unexpected one", () => {
    const expected = expectedKernels("linux-x64-gnu");
    expect(kernelFaults(["amx_fp16", "avx512_dist_table"], expected)).toEqual([]);
    expect(kernelFaults(["avx512_dist_table"], expected)).toEqual([
      expect.stringContaining("the SIMD kernel amx_fp16 is missing"),
    ]);
    expect(kernelFaults(["avx512_f16"], expectedKernels("linux-arm64-gnu"))).toEqual([
      expect.stringContaining("avx512_f16 is not in the list"),
    ]);
  });
});
