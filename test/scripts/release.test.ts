import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { BUNDLED } from "../../scripts/build/bundled.mjs";
import { root as checkout } from "../../scripts/build/paths.mjs";
import { releaseFaults, toolFaults } from "../../scripts/release/check.mjs";
import { contentFaults, manifestFaults } from "../../scripts/release/pack.mjs";
import { publishOrder } from "../../scripts/release/publish.mjs";
import { inShippedFolder } from "../../scripts/release/shipped.mjs";
import { removeDir, tempDir } from "../harness/temp.js";

const url = "git+https://github.com/acme/joust.git";

describe("the release check", () => {
  const ready = {
    manifest: { version: "0.2.0", repository: { type: "git", url } },
    cargo: '[workspace]\n\n[workspace.package]\nversion = "0.2.0"\nedition = "2024"\n',
    changelog: "# Changelog\n\n## 0.2.0 (2026-12-01)\n\n## 0.1.0 (2026-11-24)\n",
    hasDataDirectory: true,
    tag: "v0.2.0",
    repository: "Acme/joust",
  };

  it("accepts a consistent state", () => {
    expect(releaseFaults(ready)).toEqual([]);
    expect(releaseFaults({ ...ready, tag: undefined, repository: undefined })).toEqual([]);
  });

  it("rejects a repository that is not the workflow's, and needs none", () => {
    expect(releaseFaults({ ...ready, manifest: { version: "0.2.0" } })).toEqual([]);
    const foreign = releaseFaults({ ...ready, repository: "other/joust" });
    expect(foreign).toEqual([expect.stringContaining("git+https://github.com/other/joust.git")]);
  });

  it("names each place with another version and each open step", () => {
    const faults = releaseFaults({
      ...ready,
      tag: "v0.3.0",
      cargo: ready.cargo.replace("0.2.0", "0.1.0"),
      changelog: "## 0.2.0 (unreleased)\n",
      hasDataDirectory: false,
    });
    expect(faults).toEqual([
      expect.stringContaining("the tag is v0.3.0"),
      expect.stringContaining("the version in Cargo.toml is 0.1.0"),
      expect.stringContaining("marks 0.2.0 as unreleased"),
      expect.stringContaining("test/durability/upgrade/data-0.2.0.tar.gz is missing"),
    ]);
    expect(releaseFaults({ ...ready, changelog: "## 0.2.01\n" })).toHaveLength(1);
  });

  it("rejects a prerelease that is no version of Python", () => {
    const faultsOf = (version: string) =>
      releaseFaults({
        ...ready,
        manifest: { version },
        cargo: ready.cargo.replace("0.2.0", version),
        changelog: `## ${version} (2026-12-01)\n`,
        tag: `v${version}`,
      });
    for (const version of ["0.0.1-alpha.0", "0.2.0-beta.12", "1.0.0-rc.1"])
      expect(faultsOf(version)).toEqual([]);
    for (const version of ["0.0.1-first.0", "0.2.0-rc", "0.2.0-rc.1.2", "0.2.0-1"])
      expect(faultsOf(version)).toEqual([
        `the prerelease ${version} in package.json is no version of Python: use -alpha.N, -beta.N or -rc.N`,
      ]);
  });

  it("skips in a rehearsal the steps that are done right before a release", () => {
    const early = { ...ready, changelog: "## 0.2.0 (unreleased)\n", hasDataDirectory: false };
    expect(releaseFaults({ ...early, rehearsal: true })).toEqual([]);
    expect(releaseFaults({ ...early, repository: "other/x", rehearsal: true })).toHaveLength(1);
  });

  it("rejects tools that cannot publish without a token", () => {
    expect(toolFaults({ node: "22.14.0", npm: "11.5.1" })).toEqual([]);
    expect(toolFaults({ node: "24.1.0", npm: "11.10.0" })).toEqual([]);
    expect(toolFaults({ node: "22.13.9", npm: "10.9.0" })).toEqual([
      expect.stringContaining("node 22.13.9"),
      expect.stringContaining("npm 10.9.0"),
    ]);
  });
});

describe("the check of packed packages", () => {
  it("names each missing file of the main package, including /docs", () => {
    const packed = execFileSync("npm", ["pack", "--json", "--dry-run", "--ignore-scripts"], {
      cwd: checkout,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const [{ files }] = Object.values(JSON.parse(packed.toString())) as [
      { files: { path: string }[] },
    ];
    const paths = files.map(({ path }) => path);
    expect(contentFaults({ name: "joust" }, paths)).toEqual([]);
    const bare = paths.filter((path) => !path.startsWith("dist/api/openapi/docs/"));
    expect(contentFaults({ name: "joust" }, bare)).toEqual([
      "joust lacks dist/api/openapi/docs/index.html",
      "joust lacks dist/api/openapi/docs/swagger-ui/swagger-ui-bundle.js",
      "joust lacks dist/api/openapi/docs/swagger-ui/swagger-ui.css",
    ]);
  });

  it("names missing files that the server starts or sends", () => {
    expect(contentFaults({ name: "joust" }, [])).toEqual(
      expect.arrayContaining([
        "joust lacks dist/server/worker.js",
        "joust lacks dist/THIRD-PARTY-LICENSES",
        "joust lacks dist/jobs/ray/joust_worker/__init__.py",
      ]),
    );
  });

  it("names missing parts of a platform package", () => {
    const manifest = { name: "joust-linux-x64-gnu", main: "joust.node", os: ["linux"] };
    const files = ["LICENSE", "THIRD-PARTY-LICENSES", "joust.node", "uws/20.57/uws_1.node"];
    expect(contentFaults(manifest, files)).toEqual([]);
    expect(contentFaults(manifest, ["LICENSE", "THIRD-PARTY-LICENSES"])).toEqual([
      "joust-linux-x64-gnu lacks joust.node",
      "joust-linux-x64-gnu lacks the builds of uWebSockets.js",
    ]);
    const musl = { ...manifest, name: "joust-linux-x64-musl" };
    expect(contentFaults(musl, files.slice(0, 3))).toEqual([]);
  });

  it("names fields of package.json that npm would reject", () => {
    const manifest = {
      name: "joust",
      version: "0.2.0",
      repository: { url },
      optionalDependencies: { "joust-linux-x64-gnu": "0.2.0" },
    };
    expect(manifestFaults(manifest)).toEqual([]);
    expect(
      manifestFaults({ ...manifest, optionalDependencies: { "joust-linux-x64-gnu": "0.1.0" } }),
    ).toEqual(["joust lists joust-linux-x64-gnu 0.1.0 instead of 0.2.0"]);
    expect(manifestFaults({ name: "joust", version: "0.2.0" })).toEqual([
      expect.stringContaining("has no repository"),
      expect.stringContaining("lists no platform package"),
    ]);
  });
});

describe("the publish step", () => {
  const folder = tempDir("publish");
  afterEach(() => removeDir(folder));

  it("publishes the main package last and skips packages that the registry has", () => {
    const release = join(folder, "release");
    const published = join(folder, "published");
    for (const name of ["joust", "joust-darwin-arm64", "joust-linux-x64-gnu"]) tarball(name);
    writeFileSync(join(folder, "release", "SHA256SUMS"), "");
    const log = publish("joust-darwin-arm64@0.2.0");
    expect(log.split("\n").filter((line) => line.startsWith("publish"))).toEqual([
      "publish joust-linux-x64-gnu-0.2.0.tgz --access public --provenance --tag latest",
      "publish joust-0.2.0.tgz --access public --provenance --tag latest",
    ]);

    function tarball(name: string): void {
      const contents = join(folder, name, "package");
      mkdirSync(contents, { recursive: true });
      mkdirSync(release, { recursive: true });
      writeFileSync(join(contents, "package.json"), JSON.stringify({ name, version: "0.2.0" }));
      const file = join(release, `${name}-0.2.0.tgz`);
      execFileSync("tar", ["-czf", file, "-C", join(folder, name), "package"]);
    }

    /** An npm replacement that records its arguments and reports one version as published. */
    function publish(known: string): string {
      const bin = join(folder, "bin");
      mkdirSync(bin);
      const npm = join(bin, "npm");
      writeFileSync(
        npm,
        `#!/bin/sh
if [ "$1" = view ]; then
  if [ "$2" = "${known}" ]; then echo '"0.2.0"'; exit 0; fi
  echo 'npm error code E404' >&2; exit 1
fi
# npm takes release/joust.tgz for a repository on GitHub.
case "$2" in /*) ;; *) echo "no path: $2" >&2; exit 1 ;; esac
file=$(basename "$2"); shift 2
echo "publish $file $*" >> "${published}"
`,
      );
      chmodSync(npm, 0o755);
      const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
      const script = join(checkout, "scripts", "release", "publish.mjs");
      // A relative directory, as in the workflow.
      execFileSync(process.execPath, [script, "release"], { cwd: folder, env, stdio: "pipe" });
      return existsSync(published) ? readFileSync(published, "utf8") : "";
    }
  });

  it("orders packages after their dependencies", () => {
    const names = ["joust-0.2.0.tgz", "SHA256SUMS", "joust-linux-x64-gnu-0.2.0.tgz"];
    expect(publishOrder(names)).toEqual(["joust-linux-x64-gnu-0.2.0.tgz", "joust-0.2.0.tgz"]);
  });
});

it("the bill of materials lists the packages of the bundle as required, and no tool", () => {
  const sbom = ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only"];
  const output = inShippedFolder((cwd: string) =>
    execFileSync("npm", sbom, { cwd, stdio: "pipe" }),
  );
  const { components } = JSON.parse(output.toString()) as {
    components: { name: string; scope: string }[];
  };
  const scopes = new Map(components.map(({ name, scope }) => [name, scope]));
  for (const name of [...BUNDLED, "jose"])
    expect([name, scopes.get(name)]).toEqual([name, "required"]);
  expect(scopes.has("vitest")).toBe(false);
});
