import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { licenceText, linkedCrates } from "../../scripts/packages/licences.mjs";
import { publishedManifest } from "../../scripts/packages/main-manifest.mjs";
import { publishedRepository } from "../../scripts/packages/repository.mjs";
import { uwsFiles, uwsNotice } from "../../scripts/packages/uws.mjs";
import { removeDir, tempDir } from "../harness/temp.js";

describe("the builds of uWebSockets.js in a platform package", () => {
  const modules = tempDir("modules");
  afterAll(() => removeDir(modules));
  const write = (name: string) => {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    writeFileSync(join(modules, name), "");
  };
  for (const host of ["linux_x64", "linux_arm", "linux_arm64", "darwin_x64", "win32_x64"]) {
    for (const abi of [115, 127]) write(`uws-20-57/uws_${host}_${abi}.node`);
    for (const abi of [93, 115]) write(`uws-20-30/binaries/uws_${host}_${abi}.node`);
  }
  write("uws-20-57/uws.js");

  const names = (platform: string) => uwsFiles(platform, modules).map(({ to }) => to);

  it("match its platform and the Node versions that joust supports", () => {
    expect(names("linux-x64-gnu")).toEqual([
      "uws/20.57/uws_linux_x64_115.node",
      "uws/20.57/uws_linux_x64_127.node",
      "uws/20.30/uws_linux_x64_115.node",
    ]);
    expect(names("darwin-x64").every((name) => name.includes("darwin_x64"))).toBe(true);
    expect(names("linux-arm64-gnu").every((name) => name.includes("linux_arm64_"))).toBe(true);
  });

  it("are absent for musl, which has no build", () => {
    expect(names("linux-x64-musl")).toEqual([]);
  });

  it("include their source and their licence", () => {
    expect(uwsNotice()).toMatch(
      /^20\.57\/ is from the npm package @btc-vision\/uwebsockets\.js@20\.57\.0 \(Apache-2\.0\), https:/m,
    );
    expect(uwsNotice()).toMatch(/^20\.30\/ is from the npm package @trufflesuite/m);
  });
});

describe("the licences of the crates", () => {
  const crate = (name: string, source: string | null = "registry") => {
    const known = { version: "1.0.0", license: "MIT", authors: [], repository: null };
    return { id: name, name, source, ...known };
  };
  const dep = (pkg: string, kind: string | null = null) => ({ pkg, dep_kinds: [{ kind }] });

  it("are those of linked crates and not of build-only crates", () => {
    const metadata = {
      packages: [crate("joust-node", null), crate("b"), crate("a"), crate("protoc"), crate("test")],
      resolve: {
        nodes: [
          { id: "joust-node", deps: [dep("b"), dep("test", "dev")] },
          { id: "b", deps: [dep("a"), dep("protoc", "build")] },
          { id: "a", deps: [] },
        ],
      },
    };
    expect(linkedCrates(metadata).map(({ name }) => name)).toEqual(["a", "b"]);
  });

  it("name each crate and contain each text once", () => {
    const text = licenceText(
      "Crates:",
      [crate("a"), crate("b"), crate("c")],
      ({ name }: { name: string }) => (name === "c" ? ["other terms"] : ["the terms"]),
    );
    expect(text).toContain("a 1.0.0: MIT\nb 1.0.0: MIT\nc 1.0.0: MIT\n");
    expect(text.match(/the terms/g)).toHaveLength(1);
    expect(text).toMatch(/a 1\.0\.0, b 1\.0\.0\n=+\n\nthe terms/);
  });
});

it("the published main package lists the platform packages of its version and no uWebSockets.js", async () => {
  const { default: manifest } = await import("../../package.json", { with: { type: "json" } });
  const published = publishedManifest(manifest, ["linux-x64-gnu", "darwin-arm64"]);
  expect(published.optionalDependencies).toEqual({
    "joust-linux-x64-gnu": manifest.version,
    "joust-darwin-arm64": manifest.version,
  });
  const installed = Object.keys({ ...published.dependencies, ...published.optionalDependencies });
  expect(installed.filter((name) => name.startsWith("uws"))).toEqual([]);
});

describe("the repository of a published package", () => {
  it("is that of the workflow that packs it", () => {
    expect(publishedRepository({}, "acme/joust")).toEqual({
      repository: { type: "git", url: "git+https://github.com/acme/joust.git" },
    });
  });

  it("is that of package.json if it names one", () => {
    expect(publishedRepository({ repository: "github:acme/fork" }, "acme/joust")).toEqual({
      repository: "github:acme/fork",
    });
  });

  it("is absent outside of a workflow", () => {
    expect(publishedRepository({}, "")).toEqual({});
  });
});
