import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { npm } from "../build/dependencies.mjs";
import { platform, root } from "../build/paths.mjs";
import { publishedManifest } from "../packages/main-manifest.mjs";

/** Makes the platform package of this host with the compiled addon; returns its folder. */
export function makePlatformPackage() {
  const script = join(root, "scripts", "package.mjs");
  execFileSync(process.execPath, [script, "platform", "--profile", "release"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  return join(root, "native", "npm", platform);
}

/** Packs the main package with npm and unpacks it; returns its folder. */
export function makeMainPackage(work) {
  const packed = npm(["pack", "--json", "--silent", "--pack-destination", work], {
    cwd: root,
    stdio: ["ignore", "pipe", 2],
  });
  // The output of prepack precedes the JSON. npm 12 prints an object by name, older versions a list.
  const [{ filename }] = Object.values(JSON.parse(packed.slice(packed.search(/^[[{]$/m))));
  execFileSync("tar", ["-xzf", join(work, filename), "-C", work]);
  return join(work, "package");
}

/** Writes the manifest of an unpacked main package with these platforms; returns its version. */
export function listPlatforms(folder, platforms, suffix = "") {
  const checkout = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const manifest = { ...publishedManifest(checkout, platforms) };
  manifest.version += suffix;
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2));
  return manifest.version;
}

/** Copies the checkout without compiled files, with a link to its npm packages. */
export function copyCheckout(to) {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
  const files = execFileSync("git", args, { cwd: root, encoding: "utf8" }).split("\0");
  for (const file of files.filter((name) => name !== "" && !name.startsWith("test/"))) {
    mkdirSync(dirname(join(to, file)), { recursive: true });
    // A package-lock.json newer than node_modules would mean stale dependencies.
    cpSync(join(root, file), join(to, file), { preserveTimestamps: true });
  }
  symlinkSync(join(root, "node_modules"), join(to, "node_modules"));
}
