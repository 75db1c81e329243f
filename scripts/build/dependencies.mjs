import { execFileSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { root } from "./paths.mjs";

/** Whether the npm packages are missing or older than the lock file. */
export function dependenciesStale() {
  return isStale(root, "package-lock.json");
}

/** Installs exactly what the lock file says. */
export function installDependencies() {
  install(root, "ci");
}

/** The same for a folder of its own without a lock file, whose package.json names exact versions. */
export function installFolder(folder) {
  if (isStale(folder, "package.json")) install(folder, "install", "--no-package-lock");
}

function isStale(folder, source) {
  const installed = join(folder, "node_modules", ".package-lock.json");
  return (
    !existsSync(installed) || statSync(installed).mtimeMs < statSync(join(folder, source)).mtimeMs
  );
}

/** No package needs its install script: all that carry native code ship it built. */
function install(folder, ...args) {
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  npm([...args, ...quiet], { cwd: folder, stdio: ["ignore", 2, 2] });
}

/** Runs npm; what it prints to a pipe. */
export function npm(args, options) {
  const isWindows = process.platform === "win32";
  return execFileSync(isWindows ? "npm.cmd" : "npm", args, {
    encoding: "utf8",
    ...options,
    shell: isWindows,
  });
}
