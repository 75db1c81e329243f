/**
 * `node scripts/release/publish.mjs FOLDER`: publishes the packed packages of a folder, the main package last,
 * because it depends on the others. Started again after a failure, it goes on with what is not published yet.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";

/**
 * The packages of a folder of tarballs in the order in which they can be published: the main package has the
 * shortest name.
 *
 * @param {string[]} names of files
 */
export function inOrder(names) {
  return names
    .filter((name) => name.endsWith(".tgz"))
    .sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
}

/** @param {string} file a tarball */
function manifestOf(file) {
  const text = execFileSync("tar", ["-xzOf", file, "package/package.json"], { encoding: "utf8" });
  return JSON.parse(text);
}

/** Asks the registry; an answer other than "no such version" has to be looked at by a person. */
function isPublished(name, version) {
  const view = ["view", `${name}@${version}`, "version", "--json"];
  const { status, stdout, stderr } = spawnSync("npm", view, { encoding: "utf8" });
  if (status === 0) return stdout.includes(version);
  if (/E404/.test(stdout + stderr)) return false;
  throw new Error(`npm cannot say whether ${name}@${version} is published:\n${stderr}`);
}

function publish(file) {
  const { name, version } = manifestOf(file);
  if (isPublished(name, version)) {
    console.log(`${name}@${version} is published already`);
    return;
  }
  // A version such as 1.0.0-rc.1 is installed only by those who ask for it.
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
  if (!folder) throw new Error("name the folder with the packed packages");
  const files = inOrder(readdirSync(folder));
  if (files.length < 2) throw new Error(`${folder} holds ${files.length} packages: two at least`);
  // npm takes a relative path such as release/joust.tgz for a repository on GitHub.
  for (const file of files) publish(join(resolve(folder), file));
}
