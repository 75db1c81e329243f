import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { npm } from "./dependencies.mjs";
import { platform, root } from "./paths.mjs";

/** A registry that cannot be reached costs seconds, not minutes. */
const PATIENCE = ["--fetch-retries=0", "--fetch-timeout=60000", "--loglevel=error"];

/**
 * Writes the addon of the published platform package of this version to a file.
 *
 * @param {string} inputs the fingerprint of the sources that it has to be made from
 * @param {string} to
 * @returns {boolean} whether there was such a package
 */
export function fetchAddon(inputs, to) {
  const { name, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const wanted = `${name}-${platform}@${version}`;
  if (publishedInputs(wanted) !== inputs) return false;
  console.error(`taking the engine from the package ${wanted}`);
  const folder = mkdtempSync(join(tmpdir(), "joust-addon-"));
  try {
    const quiet = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund"];
    npm(["install", wanted, "--prefix", folder, ...quiet, ...PATIENCE], {
      cwd: folder,
      stdio: ["ignore", 2, 2],
    });
    const installed = join(folder, "node_modules", `${name}-${platform}`, basename(to));
    copyFileSync(installed, `${to}.${process.pid}`);
    renameSync(`${to}.${process.pid}`, to);
    return true;
  } catch (error) {
    console.error(`the package ${wanted} cannot be used: ${error.message.split("\n", 1)[0]}`);
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What the addon of a package was made from; undefined when the registry has no such package. */
function publishedInputs(wanted) {
  try {
    const answer = npm(["view", wanted, "joust.inputs", "--json", ...PATIENCE], {
      cwd: root,
      stdio: ["ignore", "pipe", "ignore"],
    });
    return JSON.parse(answer);
  } catch {
    return undefined;
  }
}
