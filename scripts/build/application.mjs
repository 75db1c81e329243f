/**
 * The server as an application: what the wheel contains, and the npm packages from which an image is built.
 * Both take the addon that is in native/, whatever profile it was compiled with.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { compiledTarget, stripAddon, writePlatformPackage } from "../packages/platform.mjs";
import { addonPath, platform, root } from "./paths.mjs";

/** `process.versions.modules` of Node 24, which the wheel and the image bring. */
const NODE_ABI = "137";

/**
 * Writes the server into `folder`, which must not exist: the package as npm publishes it, its production
 * dependencies at the versions of package-lock.json, and the platform package. Without what Node 24 on this
 * platform does not load. Starts with `node dist/cli/main.js`.
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
  removeDevelopment(modules);
}

/** Packs the main package and this platform's into `folder`; the paths of both. */
export function packPackages(folder) {
  const source = mkdtempSync(join(tmpdir(), "joust-platform-"));
  try {
    writePlatform(source);
    return [pack(root, folder), pack(source, folder)];
  } finally {
    rmSync(source, { recursive: true });
  }
}

/** The platform package with the addon that is there. */
function writePlatform(folder) {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const target = compiledTarget(manifest);
  writePlatformPackage({ manifest, target, addon: addonPath, folder });
  // The profile `dist` has removed the symbols already.
  if (target.platform === "linux") stripAddon(join(folder, basename(addonPath)));
}

/** Scripts are left out: every caller comes after set-up, which has compiled what they would compile. */
function pack(source, folder) {
  const output = npm(["pack", "--json", "--ignore-scripts", "--pack-destination", folder], source);
  const packed = JSON.parse(output);
  // npm 12 answers with an object by name, older ones with a list.
  const [{ filename }] = Object.values(packed);
  return join(folder, filename.replace(/^@/, "").replace("/", "-"));
}

/** The builds for other versions of Node, and those for the other C library, which npm installs too. */
function removeForeignBinaries(modules) {
  const uws = join(modules, `joust-${platform}`, "uws");
  for (const name of readdirSync(uws, { recursive: true })) {
    if (name.endsWith(".node") && !name.endsWith(`_${NODE_ABI}.node`)) rmSync(join(uws, name));
  }
  for (const name of readdirSync(join(modules, "@libsql"))) {
    if (name.endsWith("-musl")) rmSync(join(modules, "@libsql", name), { recursive: true });
  }
}

/** Declarations and source maps: nearly half of the files, and Node reads none of them. */
function removeDevelopment(modules) {
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
