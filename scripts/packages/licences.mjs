import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "../build/paths.mjs";

const NAME_OF_LICENCE = /^(?:licen[cs]e|copying|notice|unlicense)/i;

/**
 * The licences of all crates in an addon as one text: a list of the crates with the names of their licences, then
 * each distinct licence text with its crates.
 *
 * @param {string} triple the target of Rust
 */
export function crateLicences(triple) {
  const args = ["metadata", "--format-version", "1", "--locked", "--filter-platform", triple];
  const output = execFileSync("cargo", args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const introduction = "The engine of joust contains these Rust crates in compiled form.";
  return licenceText(introduction, linkedCrates(JSON.parse(output)), textsOfCrate);
}

/**
 * The licences of npm packages in node_modules as one text, like those of the crates.
 *
 * @param {string} introduction
 * @param {string[]} names
 */
export function npmLicences(introduction, names) {
  const packages = [...names].sort().map((name) => {
    const folder = join(root, "node_modules", name);
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const { version, license, author, repository } = manifest;
    const authors = author ? [author.name ?? author] : [];
    return { name, version, license, authors, repository: repository?.url ?? repository, folder };
  });
  return licenceText(introduction, packages, ({ name, folder }) => {
    const texts = textsIn(folder);
    if (texts.length === 0) throw new Error(`the package ${name} has no licence text`);
    return texts;
  });
}

/**
 * The third-party crates in the addon: the normal dependencies of joust-node, without build dependencies.
 */
export function linkedCrates({ packages, resolve }) {
  const byId = new Map(packages.map((crate) => [crate.id, crate]));
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
  const addon = packages.find(({ name }) => name === "joust-node");
  const seen = new Set([addon.id]);
  for (const id of seen) {
    for (const { pkg, dep_kinds: kinds } of nodes.get(id).deps) {
      if (kinds.some(({ kind }) => kind === null)) seen.add(pkg);
    }
  }
  return [...seen]
    .map((id) => byId.get(id))
    .filter(({ source }) => source !== null)
    .sort((a, b) => (`${a.name} ${a.version}` < `${b.name} ${b.version}` ? -1 : 1));
}

/**
 * @param {string} introduction
 * @param {any[]} packages as `cargo metadata` describes crates
 * @param {(item: any) => string[]} textsOf returns the licence texts of a package
 */
export function licenceText(introduction, packages, textsOf) {
  const list = packages.map(
    ({ name, version, license, authors, repository }) =>
      `${name} ${version}: ${license ?? "see its text below"}${authors.length > 0 ? `, by ${authors.join(", ")}` : ""}${repository ? `, ${repository}` : ""}`,
  );
  const users = new Map();
  for (const item of packages) {
    for (const text of textsOf(item)) {
      users.set(text, [...(users.get(text) ?? []), `${item.name} ${item.version}`]);
    }
  }
  const texts = [...users].map(
    ([text, names]) => `${"=".repeat(80)}\n${names.join(", ")}\n${"=".repeat(80)}\n\n${text}`,
  );
  return `${introduction}\n\n${list.join("\n")}\n\n${texts.join("\n\n")}\n`;
}

const textsOfCrate = ({ manifest_path: manifest }) => textsIn(dirname(manifest));

function textsIn(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && NAME_OF_LICENCE.test(entry.name))
    .map(({ name }) => readFileSync(join(folder, name), "utf8").trim());
}
