import { execFileSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { root } from "./paths.mjs";

/** Whether the npm packages are missing or older than package-lock.json. */
export function dependenciesStale() {
  return isStale(root, "package-lock.json");
}

/** Installs the exact versions of package-lock.json. */
export function installDependencies() {
  install(root, "ci");
}

/** Installs the packages of another folder, whose package.json has exact versions and no lock file. */
export function installFolder(folder) {
  if (isStale(folder, "package.json")) install(folder, "install", "--no-package-lock");
}

function isStale(folder, source) {
  const installed = join(folder, "node_modules", ".package-lock.json");
  return (
    !existsSync(installed) || statSync(installed).mtimeMs < statSync(join(folder, source)).mtimeMs
  );
}

/** Ignores install scripts: every package with native code contains it compiled. */
function install(folder, ...args) {
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  npm([...args, ...quiet], { cwd: folder, stdio: ["ignore", 2, 2] });
}

/** Runs npm and returns its output, if `options.stdio` makes it a pipe. */
export function npm(args, options) {
  const isWindows = process.platform === "win32";
  return execFileSync(isWindows ? "npm.cmd" : "npm", args, {
    encoding: "utf8",
    ...options,
    shell: isWindows,
  });
}
