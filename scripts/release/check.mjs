/**
 * What has to be true before anything is compiled for a release. The release workflow runs it first; without a
 * tag in the environment it can be run before the tag is made. `--publish` also checks the tools that publish,
 * `--rehearsal` leaves out what is done right before a release.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../build/paths.mjs";

/** The owner in package.json's `repository` as long as no address is known. */
export const PLACEHOLDER = "OWNER";

/** The oldest versions that can publish with the identity of a workflow, and no token. */
const LEAST = { node: "22.14.0", npm: "11.5.1" };

/**
 * Why this state of the repository cannot be released, each reason a sentence.
 *
 * @param {{
 *   manifest: { version: string, repository?: { url?: string } | string },
 *   cargo: string,
 *   changelog: string,
 *   hasDataDirectory: boolean,
 *   tag?: string | undefined,
 *   repository?: string | undefined,
 *   rehearsal?: boolean,
 * }} given `cargo` and `changelog` are the texts of Cargo.toml and CHANGELOG.md, `repository` is OWNER/NAME
 */
export function releaseFaults(given) {
  const { manifest, cargo, changelog, hasDataDirectory, tag, repository, rehearsal } = given;
  const { version } = manifest;
  const faults = repositoryFaults(manifest.repository, repository);
  if (tag !== undefined && tag !== `v${version}`) {
    faults.push(`the tag is ${tag} and package.json has the version ${version}: tag v${version}`);
  }
  const [, crates] = /^\[workspace\.package\][^[]*?^version = "([^"]+)"/ms.exec(cargo) ?? [];
  if (crates !== version) {
    faults.push(`Cargo.toml has the version ${crates}: set it to ${version}, as in package.json`);
  }
  if (rehearsal) return faults;
  const [, heading] = /^## (.*)$/m.exec(changelog) ?? [];
  if (heading === undefined || !new RegExp(`^${escaped(version)}(?![\\w.-])`).test(heading)) {
    faults.push(`the newest heading of CHANGELOG.md is not ${version}`);
  } else if (/unreleased/i.test(heading)) {
    faults.push(
      `CHANGELOG.md calls ${version} unreleased: write "## ${version} (YYYY-MM-DD)" instead`,
    );
  }
  if (!hasDataDirectory) {
    faults.push(
      `test/durability/upgrade/data-${version}.tar.gz is missing: make it with node test/durability/upgrade/make-data-directory.mjs and commit it`,
    );
  }
  return faults;
}

/** npm accepts a package with provenance only if its `repository` is the one whose workflow publishes it. */
function repositoryFaults(field, actual) {
  const url = typeof field === "string" ? field : field?.url;
  const wanted = `git+https://github.com/${actual ?? "OWNER/NAME"}.git`;
  if (!url || url.includes(`/${PLACEHOLDER}/`)) {
    return [`package.json has no address of the repository: set "repository.url" to ${wanted}`];
  }
  if (actual === undefined || addressOf(url) === actual.toLowerCase()) return [];
  return [`package.json gives ${url} as the repository: set "repository.url" to ${wanted}`];
}

const addressOf = (url) => /github\.com[/:](.+?)(?:\.git)?$/.exec(url)?.[1]?.toLowerCase();
const escaped = (text) => text.replace(/[.+]/g, "\\$&");

/** Which tools are too old to publish. */
export function toolFaults(versions) {
  return Object.entries(LEAST)
    .filter(([tool, least]) => isOlder(versions[tool], least))
    .map(
      ([tool, least]) => `${tool} ${versions[tool]} cannot publish: ${least} or newer is needed`,
    );
}

function isOlder(version, than) {
  const [left, right] = [version, than].map((text) => text.split(".").map(Number));
  const at = left.findIndex((part, index) => part !== right[index]);
  return at >= 0 && left[at] < right[at];
}

if (import.meta.filename === process.argv[1]) {
  const read = (name) => readFileSync(join(root, name), "utf8");
  const manifest = JSON.parse(read("package.json"));
  const { GITHUB_REF_TYPE: type, GITHUB_REF_NAME: name, GITHUB_REPOSITORY } = process.env;
  const faults = releaseFaults({
    manifest,
    cargo: read("Cargo.toml"),
    changelog: read("CHANGELOG.md"),
    hasDataDirectory: existsSync(
      join(root, `test/durability/upgrade/data-${manifest.version}.tar.gz`),
    ),
    tag: type === "tag" ? name : undefined,
    repository: GITHUB_REPOSITORY,
    rehearsal: process.argv.includes("--rehearsal"),
  });
  if (process.argv.includes("--publish")) {
    const npm = execFileSync("npm", ["--version"], { encoding: "utf8" }).trim();
    faults.push(...toolFaults({ node: process.versions.node, npm }));
  }
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exitCode = 1;
  else console.log(`${manifest.version} can be released`);
}
