import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { requireModule } from "../foundation/require-module.js";

/** Characters of a text. */
const MAX_LENGTH = 1200;
const MIN_LENGTH = 60;

/** One description of a package, or one section of its markdown. */
export interface Row {
  readonly package: string;
  readonly kind: "description" | "markdown";
  readonly title: string;
  readonly text: string;
  readonly words: number;
}

/** Reads text that every installation has: the descriptions and the Markdown files of the npm packages. */
export function readCorpus(folders: readonly string[] = nodeModules()): Row[] {
  return folders.flatMap(packageFolders).flatMap((folder) => {
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

/** The folders where Node searches packages for joust, the nearest first. */
function nodeModules(): string[] {
  return (requireModule.resolve.paths("joust") ?? []).filter((folder) => existsSync(folder));
}

function row(name: string, kind: Row["kind"], title: string, text: string): Row {
  return { package: name, kind, title, text, words: text.split(/\s+/).length };
}

function packageFolders(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => !name.startsWith("."))
    .flatMap((name) => {
      const path = join(folder, name);
      if (!name.startsWith("@")) return [path];
      return readdirSync(path).map((scoped) => join(path, scoped));
    });
}

/** The plain text under each heading, without code blocks and short texts. */
function sections(markdown: string, file: string): { title: string; text: string }[] {
  return markdown
    .replace(/```[\s\S]*?```/g, " ")
    .split(/^#{1,4} /m)
    .map((section, index) => {
      const [heading = "", ...rest] = section.split("\n");
      return index === 0
        ? { title: file, text: section }
        : { title: heading, text: rest.join("\n") };
    })
    .map(({ title, text }) => ({ title: plain(title), text: plain(text).slice(0, MAX_LENGTH) }))
    .filter(({ text }) => text.length >= MIN_LENGTH);
}

function plain(markdown: string): string {
  return markdown
    .replace(/<[^>]*>/g, " ")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/https?:\/\/\S+/g, " ")
    .replace(/[*_`|>#]+/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}
