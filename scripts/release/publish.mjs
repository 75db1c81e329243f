/**
 * `node scripts/release/publish.mjs FOLDER`: publishes the packed packages of a folder. The main package is last,
 * because it depends on the others. A second run after a failure publishes the remaining packages.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";

/**
 * Sorts the packages of a folder for publication: the main package, which has the shortest name, is last.
 *
 * @param {string[]} names of files
 */
export function publishOrder(names) {
  return names
    .filter((name) => name.endsWith(".tgz"))
    .sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
}

/** @param {string} file a tarball */
function manifestOf(file) {
  const text = execFileSync("tar", ["-xzOf", file, "package/package.json"], { encoding: "utf8" });
  return JSON.parse(text);
}

/** Whether the registry has a version. An error other than "no such version" needs a person. */
function isPublished(name, version) {
  const view = ["view", `${name}@${version}`, "version", "--json"];
  const { status, stdout, stderr } = spawnSync("npm", view, { encoding: "utf8" });
  if (status === 0) return stdout.includes(version);
  if (/E404/.test(stdout + stderr)) return false;
  throw new Error(`npm did not report whether ${name}@${version} is published:\n${stderr}`);
}

function publish(file) {
  const { name, version } = manifestOf(file);
  if (isPublished(name, version)) {
    console.log(`${name}@${version} is published already`);
    return;
  }
  // npm installs a prerelease such as 1.0.0-rc.1 only by explicit request.
  const tag = version.includes("-") ? "next" : "latest";
  const args = ["publish", file, "--access", "public", "--provenance", "--tag", tag];
  const { status } = spawnSync("npm", args, { stdio: "inherit" });
  if (status !== 0) {
    throw new Error(
      `${name}@${version} was not published. If the package does not exist yet, see "The first release" in CONTRIBUTING.md`,
    );
  }
}

if (import.meta.filename === process.argv[1]) {
  const [folder] = process.argv.slice(2);
  if (!folder) throw new Error("pass the folder with the packed packages");
  const files = publishOrder(readdirSync(folder));
  if (files.length < 2)
    throw new Error(`${folder} contains ${files.length} packages, at least 2 are required`);
  // npm interprets a relative path such as release/joust.tgz as a repository on GitHub.
  for (const file of files) publish(join(resolve(folder), file));
}
