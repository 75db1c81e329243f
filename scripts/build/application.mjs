/**
 * The server as an application: the content of the wheel, and the npm packages for an image. Both contain the
 * addon in native/, compiled with any profile.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { compiledTarget, stripAddon, writePlatformPackage } from "../packages/platform.mjs";
import { addonPath, platform, root } from "./paths.mjs";

/** `process.versions.modules` of Node 24, which the wheel and the image contain. */
const NODE_ABI = "137";

/**
 * Writes the server to `folder`, which must not exist: the package as npm publishes it, its production
 * dependencies in the versions of package-lock.json, and the platform package. It omits the files that Node 24
 * does not load on this platform. `node dist/cli/main.js` starts the server.
 */
export function stageApplication(folder) {
  mkdirSync(folder, { recursive: true });
  const archive = pack(root, folder);
  execFileSync("tar", ["-xzf", archive, "-C", folder, "--strip-components=1"]);
  rmSync(archive);
  copyFileSync(join(root, "package-lock.json"), join(folder, "package-lock.json"));
  npm(["install", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"], folder);
  rmSync(join(folder, "package-lock.json"));
  const modules = join(folder, "node_modules");
  writePlatform(join(modules, `joust-${platform}`));
  removeForeignBinaries(modules);
  removeDevelopmentFiles(modules);
}

/** Packs the main package and the package of this platform into `folder`; returns both paths. */
export function packPackages(folder) {
  const source = mkdtempSync(join(tmpdir(), "joust-platform-"));
  try {
    writePlatform(source);
    return [pack(root, folder), pack(source, folder)];
  } finally {
    rmSync(source, { recursive: true });
  }
}

/** Writes the platform package with the addon of native/. */
function writePlatform(folder) {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const target = compiledTarget(manifest);
  writePlatformPackage({ manifest, target, addon: addonPath, folder });
  // Only the profile `release` leaves symbols.
  if (target.platform === "linux") stripAddon(join(folder, basename(addonPath)));
}

/** Ignores scripts, because the set-up before every caller has compiled the sources. */
function pack(source, folder) {
  const output = npm(["pack", "--json", "--ignore-scripts", "--pack-destination", folder], source);
  const packed = JSON.parse(output);
  // npm 12 prints an object by name, older versions a list.
  const [{ filename }] = Object.values(packed);
  return join(folder, filename.replace(/^@/, "").replace("/", "-"));
}

/** Removes the builds for other versions of Node and for musl, which npm also installs. */
function removeForeignBinaries(modules) {
  const uws = join(modules, `joust-${platform}`, "uws");
  for (const name of readdirSync(uws, { recursive: true })) {
    if (name.endsWith(".node") && !name.endsWith(`_${NODE_ABI}.node`)) rmSync(join(uws, name));
  }
  for (const name of readdirSync(join(modules, "@libsql"))) {
    if (name.endsWith("-musl")) rmSync(join(modules, "@libsql", name), { recursive: true });
  }
}

/** Removes declarations and source maps, nearly half of the files: Node reads none of them. */
function removeDevelopmentFiles(modules) {
  for (const name of readdirSync(modules, { recursive: true })) {
    if (/\.(d\.[cm]?ts|map)$/.test(name)) rmSync(join(modules, name), { force: true });
  }
}

function npm(args, cwd) {
  return execFileSync("npm", [...args, "--loglevel=error"], {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 16 * 1024 * 1024,
  });
}
