/**
 * The server as an application: what the wheel contains, and the npm packages from which an image is built.
 * Both take the addon that is in native/, whatever profile it was compiled with.
 */
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { addonInputs } from "./addon.mjs";
import { addonPath, platform, root } from "./paths.mjs";

/** `process.versions.modules` of Node 24, which the wheel and the image bring. */
const NODE_ABI = "137";

/**
 * Writes the server into `folder`, which must not exist: the package as npm publishes it, its production
 * dependencies at the versions of package-lock.json, and the addon. Without what Node 24 on this platform
 * does not load. Starts with `node dist/cli/main.js`.
 */
export function stageApplication(folder) {
  mkdirSync(folder, { recursive: true });
  const archive = packMain(folder);
  execFileSync("tar", ["-xzf", archive, "-C", folder, "--strip-components=1"]);
  rmSync(archive);
  withoutOldUws(join(folder, "package.json"));
  copyFileSync(join(root, "package-lock.json"), join(folder, "package-lock.json"));
  npm(["install", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"], folder);
  rmSync(join(folder, "package-lock.json"));
  removeForeignBinaries(join(folder, "node_modules"));
  removeDevelopment(join(folder, "node_modules"));
  copyAddon(join(folder, "native"));
}

/** Packs the main package and this platform's into `folder`; the paths of both. */
export function packPackages(folder) {
  return [packMain(folder), packPlatform(folder)];
}

function packMain(folder) {
  return pack(root, folder);
}

/** The package with the addon, as scripts/package.mjs makes it for the release, from the addon that is there. */
function packPlatform(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const source = mkdtempSync(join(tmpdir(), "joust-platform-"));
  const contents = {
    name: `${name}-${platform}`,
    version,
    license,
    main: basename(addonPath),
    os: [process.platform],
    cpu: [process.arch],
    joust: { inputs: addonInputs() },
  };
  writeFileSync(join(source, "package.json"), JSON.stringify(contents));
  copyAddon(source);
  try {
    return pack(source, folder);
  } finally {
    rmSync(source, { recursive: true });
  }
}

/** Scripts are left out: every caller comes after set-up, which has compiled what they would compile. */
function pack(source, folder) {
  const output = npm(["pack", "--json", "--ignore-scripts", "--pack-destination", folder], source);
  const packed = JSON.parse(output);
  // npm 12 answers with an object by name, older ones with a list.
  const [{ filename }] = Object.values(packed);
  return join(folder, filename.replace(/^@/, "").replace("/", "-"));
}

/** uWebSockets.js 20.30 has no build for Node 24, and brings packages that nothing loads. */
function withoutOldUws(path) {
  const manifest = JSON.parse(readFileSync(path, "utf8"));
  delete manifest.optionalDependencies["uws-20-30"];
  writeFileSync(path, `${JSON.stringify(manifest, null, 2)}\n`);
}

function removeForeignBinaries(modules) {
  const own = `uws_${process.platform}_${process.arch}_${NODE_ABI}.node`;
  const uws = join(modules, "uws-20-57");
  if (existsSync(uws)) {
    for (const name of readdirSync(uws)) {
      if (name.endsWith(".node") && name !== own) rmSync(join(uws, name));
    }
  }
  // npm installs the builds for both C libraries.
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

/** Without debug symbols where `strip` is installed; the profile `dist` has removed them already. */
function copyAddon(folder) {
  const target = join(folder, basename(addonPath));
  copyFileSync(addonPath, target);
  try {
    execFileSync("strip", ["--strip-unneeded", target], { stdio: "pipe" });
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    console.error("strip (binutils) is not installed: the addon keeps its symbols");
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
