import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { npm } from "./dependencies.mjs";
import { platform, root } from "./paths.mjs";

/** Limits the delay if the registry is not reachable. */
const TIMEOUTS = ["--fetch-retries=0", "--fetch-timeout=60000", "--loglevel=error"];

/**
 * Downloads the addon of the published platform package of this version.
 *
 * @param {string} inputs the fingerprint of the sources that it must have
 * @param {string} to
 * @returns {boolean} whether such a package exists
 */
export function fetchAddon(inputs, to) {
  const { name, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const spec = `${name}-${platform}@${version}`;
  if (publishedInputs(spec) !== inputs) return false;
  console.error(`downloading the engine from the package ${spec}`);
  const folder = mkdtempSync(join(tmpdir(), "joust-addon-"));
  try {
    const quiet = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund"];
    npm(["install", spec, "--prefix", folder, ...quiet, ...TIMEOUTS], {
      cwd: folder,
      stdio: ["ignore", 2, 2],
    });
    const installed = join(folder, "node_modules", `${name}-${platform}`, basename(to));
    copyFileSync(installed, `${to}.${process.pid}`);
    renameSync(`${to}.${process.pid}`, to);
    return true;
  } catch (error) {
    console.error(`the package ${spec} is not usable: ${error.message.split("\n", 1)[0]}`);
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The fingerprint of the sources of a package; undefined if the registry has no such package. */
function publishedInputs(spec) {
  try {
    const output = npm(["view", spec, "joust.inputs", "--json", ...TIMEOUTS], {
      cwd: root,
      stdio: ["ignore", "pipe", "ignore"],
    });
    return JSON.parse(output);
  } catch {
    return undefined;
  }
}
