import { expect, it } from "vitest";
import { chosenFeatures, featureFlags } from "../../scripts/build/features.mjs";
import { cargoBuild, cargoEnvironment, parseTarget } from "../../scripts/build/target.mjs";

it("all cloud stores are compiled in unless JOUST_FEATURES selects some", () => {
  expect(featureFlags(chosenFeatures(""))).toEqual([]);
  expect(featureFlags(chosenFeatures("gcp,azure,aws"))).toEqual([]);
  expect(featureFlags(chosenFeatures("local"))).toEqual(["--no-default-features"]);
  expect(featureFlags(chosenFeatures("gcp, aws"))).toEqual([
    "--no-default-features",
    "--features",
    "aws,gcp",
  ]);
});

it("an unknown store is rejected with a list of the known ones", () => {
  for (const value of ["s3", "aws,s3", "local,aws", "aws,"]) {
    expect(() => chosenFeatures(value)).toThrow(
      `JOUST_FEATURES is "${value}": set it to local (only local disks) or to a list of aws, azure, gcp`,
    );
  }
});

it("a target with musl links libc dynamically, because Node loads the addon", () => {
  expect(cargoEnvironment(parseTarget("x86_64-unknown-linux-musl"))).toEqual({
    CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUSTFLAGS: "-C target-feature=-crt-static",
  });
  expect(cargoEnvironment(parseTarget("x86_64-unknown-linux-gnu.2.28"))).toEqual({});
  expect(cargoEnvironment(undefined)).toEqual({});
});

it("JOUST_TARGET selects the target and its glibc version", () => {
  const target = parseTarget("aarch64-unknown-linux-gnu.2.28");
  expect(target).toMatchObject({
    triple: "aarch64-unknown-linux-gnu",
    platform: "linux-arm64-gnu",
  });
  expect(cargoBuild(target)).toEqual(["zigbuild", "--target", "aarch64-unknown-linux-gnu.2.28"]);
  const mac = parseTarget("aarch64-apple-darwin");
  expect([mac?.platform, ...cargoBuild(mac)]).toEqual([
    "darwin-arm64",
    "build",
    "--target",
    "aarch64-apple-darwin",
  ]);
  expect([parseTarget(undefined), ...cargoBuild(undefined)]).toEqual([undefined, "build"]);
  for (const name of ["x86_64-pc-windows-msvc", "aarch64-apple-darwin.2.28", "x86_64-unknown"]) {
    expect(() => parseTarget(name)).toThrow(`JOUST_TARGET is "${name}": set it to one of`);
  }
});
