/**
 * `node scripts/release/pack.mjs FOLDER...`: packs each package into release/ for publication, and fails if a
 * package is incomplete. `--dry-run` writes nothing and checks only the list of files.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { root } from "../build/paths.mjs";

/** The required files of the main package. The build copies the page at /docs and the package for Ray. */
const MAIN_FILES = [
  "CHANGELOG.md",
  "LICENSE",
  "README.md",
  "dist/THIRD-PARTY-LICENSES",
  "dist/cli/main.js",
  "dist/engine/index.d.ts",
  "dist/engine/index.js",
  "dist/engine/native.d.ts",
  "dist/jobs/ray/joust_worker/__init__.py",
  "dist/server/worker.js",
  "dist/api/openapi/docs/index.html",
  "dist/api/openapi/docs/swagger-ui/swagger-ui-bundle.js",
  "dist/api/openapi/docs/swagger-ui/swagger-ui.css",
  "native/index.d.ts",
  "native/index.js",
];

/**
 * The faults of a packed package, each a sentence.
 *
 * @param {{ name: string, main?: string, os?: string[], repository?: { url?: string } }} manifest
 * @param {string[]} files
 */
export function contentFaults(manifest, files) {
  const isPlatform = manifest.os !== undefined;
  const needed = isPlatform ? ["LICENSE", "THIRD-PARTY-LICENSES", manifest.main] : MAIN_FILES;
  const missing = needed.filter((file) => !files.includes(file));
  const faults = missing.map((file) => `${manifest.name} lacks ${file}`);
  // No build of uWebSockets.js exists for musl.
  const needsUws = isPlatform && !manifest.name.endsWith("-musl");
  if (needsUws && !files.some((file) => /^uws\/.*\.node$/.test(file))) {
    faults.push(`${manifest.name} lacks the builds of uWebSockets.js`);
  }
  return faults;
}

/** The faults of a manifest that prevent publication or installation. */
export function manifestFaults(manifest) {
  const faults = [];
  if (manifest.repository === undefined) {
    faults.push(
      `${manifest.name} has no repository, which npm needs for provenance: set GITHUB_REPOSITORY to its owner and name, as the release workflow does, and write the package again`,
    );
  }
  const listed = Object.entries(manifest.optionalDependencies ?? {});
  const platforms = listed.filter(([name]) => name.startsWith(`${manifest.name}-`));
  if (manifest.os === undefined && platforms.length === 0) {
    faults.push(
      `${manifest.name} lists no platform package: run node scripts/package.mjs main first`,
    );
  }
  for (const [name, version] of platforms) {
    if (version !== manifest.version) {
      faults.push(`${manifest.name} lists ${name} ${version} instead of ${manifest.version}`);
    }
  }
  return faults;
}

function pack(folder, dryRun) {
  const target = join(root, "release");
  if (!dryRun) mkdirSync(target, { recursive: true });
  const where = dryRun ? ["--dry-run"] : ["--pack-destination", target];
  const output = execFileSync("npm", ["pack", "--json", "--loglevel=error", ...where], {
    cwd: folder,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  // npm 12 prints an object by name, older versions a list.
  const [{ filename, files, size }] = Object.values(JSON.parse(output));
  const paths = files.map(({ path }) => path);
  const faults = contentFaults(manifest, paths);
  if (!dryRun) faults.push(...manifestFaults(manifest));
  for (const fault of faults) console.error(fault);
  console.log(`${filename}: ${paths.length} files, ${(size / 2 ** 20).toFixed(1)} MiB`);
  return faults.length;
}

if (import.meta.filename === process.argv[1]) {
  const args = process.argv.slice(2);
  const dryRun = args.includes("--dry-run");
  const folders = args.filter((arg) => !arg.startsWith("--"));
  if (folders.length === 0) folders.push(root);
  for (const folder of folders.map((name) => resolve(name))) {
    if (!existsSync(join(folder, "package.json"))) throw new Error(`${folder} has no package.json`);
    if (pack(folder, dryRun) > 0) process.exitCode = 1;
  }
}
