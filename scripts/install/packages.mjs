import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { npm } from "../build/dependencies.mjs";
import { platform, root } from "../build/paths.mjs";
import { publishedManifest } from "../packages/main.mjs";

/** The platform package of this host with the addon that is compiled already; its folder. */
export function makePlatformPackage() {
  const script = join(root, "scripts", "package.mjs");
  execFileSync(process.execPath, [script, "platform", "--profile", "release"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  return join(root, "native", "npm", platform);
}

/** The main package as npm packs it, unpacked; the folder. */
export function makeMainPackage(work) {
  const packed = npm(["pack", "--json", "--silent", "--pack-destination", work], {
    cwd: root,
    stdio: ["ignore", "pipe", 2],
  });
  // What prepack prints comes before. npm 12 prints an object by name, older ones a list.
  const [{ filename }] = Object.values(JSON.parse(packed.slice(packed.search(/^[[{]$/m))));
  execFileSync("tar", ["-xzf", join(work, filename), "-C", work]);
  return join(work, "package");
}

/** Makes an unpacked main package one version that lists these platforms; the version. */
export function listPlatforms(folder, platforms, suffix = "") {
  const checkout = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const manifest = { ...publishedManifest(checkout, platforms) };
  manifest.version += suffix;
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2));
  return manifest.version;
}

/** A copy of the checkout in which nothing was compiled, with the same npm packages. */
export function copyCheckout(to) {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
  const files = execFileSync("git", args, { cwd: root, encoding: "utf8" }).split("\0");
  for (const file of files.filter((name) => name !== "" && !name.startsWith("test/"))) {
    mkdirSync(dirname(join(to, file)), { recursive: true });
    // Files newer than node_modules would be taken for changed dependencies.
    cpSync(join(root, file), join(to, file), { preserveTimestamps: true });
  }
  symlinkSync(join(root, "node_modules"), join(to, "node_modules"));
}
