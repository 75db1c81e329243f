/**
 * Checks the preconditions of a release. The release workflow runs it before all other jobs; without a tag in the
 * environment it also works before the tag exists. `--publish` also checks the versions of the publishing tools.
 * `--rehearsal` omits the steps that immediately precede a release.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../build/paths.mjs";
import { repositoryUrl } from "../packages/repository.mjs";

/** The oldest versions that support trusted publishing, without a token. */
const MIN_VERSIONS = { node: "22.14.0", npm: "11.5.1" };

/** The prereleases that are versions of npm and of Python: the wheel has the version of package.json. */
const PRERELEASE = /^[\d.]+-(?:alpha|beta|rc)\.\d+$/;

/**
 * The reasons why this state of the repository cannot be released, each a sentence.
 *
 * @param {{
 *   manifest: { version: string, repository?: { url?: string } | string },
 *   cargo: string,
 *   changelog: string,
 *   hasDataDirectory: boolean,
 *   tag?: string | undefined,
 *   repository?: string | undefined,
 *   rehearsal?: boolean,
 * }} state `cargo` and `changelog`: the texts of Cargo.toml and CHANGELOG.md; `repository`: OWNER/NAME
 */
export function releaseFaults(state) {
  const { manifest, cargo, changelog, hasDataDirectory, tag, repository, rehearsal } = state;
  const { version } = manifest;
  const faults = repositoryFaults(manifest.repository, repository);
  if (tag !== undefined && tag !== `v${version}`) {
    faults.push(
      `the tag is ${tag}, but the version in package.json is ${version}: use the tag v${version}`,
    );
  }
  const [, crates] = /^\[workspace\.package\][^[]*?^version = "([^"]+)"/ms.exec(cargo) ?? [];
  if (crates !== version) {
    faults.push(
      `the version in Cargo.toml is ${crates}: set it to ${version}, the version in package.json`,
    );
  }
  if (version.includes("-") && !PRERELEASE.test(version)) {
    faults.push(
      `the prerelease ${version} in package.json is no version of Python: use -alpha.N, -beta.N or -rc.N`,
    );
  }
  if (rehearsal) return faults;
  const [, heading] = /^## (.*)$/m.exec(changelog) ?? [];
  if (heading === undefined || !new RegExp(`^${escaped(version)}(?![\\w.-])`).test(heading)) {
    faults.push(`the newest heading of CHANGELOG.md is not ${version}`);
  } else if (/unreleased/i.test(heading)) {
    faults.push(
      `CHANGELOG.md marks ${version} as unreleased: write "## ${version} (YYYY-MM-DD)" instead`,
    );
  }
  if (!hasDataDirectory) {
    faults.push(
      `test/durability/upgrade/data-${version}.tar.gz is missing: create it with node test/durability/upgrade/make-data-directory.mjs and commit it`,
    );
  }
  return faults;
}

/** Without the field, the packages get the repository of the workflow: see `publishedRepository`. */
function repositoryFaults(field, actual) {
  const url = typeof field === "string" ? field : field?.url;
  if (url === undefined || actual === undefined) return [];
  if (addressOf(url) === actual.toLowerCase()) return [];
  return [
    `the repository in package.json is ${url}: remove the field, or set "repository.url" to ${repositoryUrl(actual)}`,
  ];
}

const addressOf = (url) => /github\.com[/:](.+?)(?:\.git)?$/.exec(url)?.[1]?.toLowerCase();
const escaped = (text) => text.replace(/[.+]/g, "\\$&");

/** The tools that are too old for publishing. */
export function toolFaults(versions) {
  return Object.entries(MIN_VERSIONS)
    .filter(([tool, least]) => isOlder(versions[tool], least))
    .map(([tool, least]) => `${tool} ${versions[tool]} cannot publish: use ${least} or newer`);
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
