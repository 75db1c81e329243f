/**
 * `node scripts/release/sbom.mjs`: writes the software bills of materials in CycloneDX format to release/: the npm
 * packages of an installation and of the bundle, and the crates of the addon.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../build/paths.mjs";
import { inShippedFolder } from "./shipped.mjs";

const folder = join(root, "release");
mkdirSync(folder, { recursive: true });
const { name, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

function output(program, args, cwd = root) {
  return execFileSync(program, args, {
    cwd,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
    stdio: ["ignore", "pipe", "inherit"],
  });
}

/** Requires that a bill lists components. */
function check(file) {
  const { bomFormat, components } = JSON.parse(readFileSync(file, "utf8"));
  if (bomFormat !== "CycloneDX" || !(components?.length > 0)) {
    throw new Error(`${file} is not a CycloneDX list of components`);
  }
  console.log(`${file}: ${components.length} components`);
}

const npm = join(folder, `${name}-${version}.npm.cdx.json`);
const sbom = ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only"];
inShippedFolder((shipped) => writeFileSync(npm, output("npm", sbom, shipped)));
check(npm);

// cargo-cyclonedx writes a file beside the manifest of each crate of the workspace.
const crates = join(folder, `${name}-${version}.cargo.cdx.json`);
const file = "release-sbom";
const format = ["--format", "json", "--spec-version", "1.5"];
output("cargo", ["cyclonedx", ...format, "--target", "all", "--override-filename", file]);
renameSync(join(root, "crates", "joust-node", `${file}.json`), crates);
for (const other of ["joust-core", "joust-flight", "joust-fuzz", "joust-text", "protoc-path"]) {
  rmSync(join(root, "crates", other, `${file}.json`), { force: true });
}
check(crates);
