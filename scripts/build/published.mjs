import { execFileSync } from "node:child_process";
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
    const packed = npm(["pack", wanted, "--json", "--pack-destination", folder, ...PATIENCE], {
      cwd: folder,
      stdio: ["ignore", "pipe", 2],
    });
    const [{ filename }] = JSON.parse(packed);
    execFileSync("tar", ["-xzf", join(folder, filename), "-C", folder]);
    copyFileSync(join(folder, "package", basename(to)), `${to}.${process.pid}`);
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
