import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const LONGEST = 1200;
const SHORTEST = 60;

/**
 * Real text that every checkout has: the descriptions and the markdown of the installed packages,
 * one row a description or a section: `{ package, kind, title, text, words }`.
 */
export function readCorpus(nodeModules) {
  return packageFolders(nodeModules).flatMap((folder) => {
    const manifest = join(folder, "package.json");
    if (!existsSync(manifest)) return [];
    const { name, description } = JSON.parse(readFileSync(manifest, "utf8"));
    const rows = readdirSync(folder)
      .filter((file) => file.toLowerCase().endsWith(".md"))
      .flatMap((file) => sections(readFileSync(join(folder, file), "utf8"), file))
      .map((section) => row(name, "markdown", section.title, section.text));
    return description ? [row(name, "description", name, description), ...rows] : rows;
  });
}

function row(name, kind, title, text) {
  return { package: name, kind, title, text, words: text.split(/\s+/).length };
}

function packageFolders(nodeModules) {
  return readdirSync(nodeModules)
    .filter((name) => !name.startsWith("."))
    .flatMap((name) => {
      const folder = join(nodeModules, name);
      if (!name.startsWith("@")) return [folder];
      return readdirSync(folder).map((scoped) => join(folder, scoped));
    });
}

/** The text under each heading, as plain words; code blocks and what is too short are left out. */
function sections(markdown, file) {
  return markdown
    .replace(/```[\s\S]*?```/g, " ")
    .split(/^#{1,4} /m)
    .map((section, at) => {
      const [first = "", ...rest] = section.split("\n");
      return at === 0 ? { title: file, text: section } : { title: first, text: rest.join("\n") };
    })
    .map(({ title, text }) => ({ title: plain(title), text: plain(text).slice(0, LONGEST) }))
    .filter(({ text }) => text.length >= SHORTEST);
}

function plain(markdown) {
  return markdown
    .replace(/<[^>]*>/g, " ")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/https?:\/\/\S+/g, " ")
    .replace(/[*_`|>#]+/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}
