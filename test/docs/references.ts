import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { checkout } from "./code-blocks.js";

/** A place in a markdown file that names a file of the repository. */
export interface Reference {
  readonly line: number;
  /** As the text has it: a link's target, or a path in backticks. */
  readonly text: string;
  readonly kind: "link" | "path";
}

/** Directories of dependencies and of build output, and those of tools, whose names begin with a dot. */
const SKIPPED = new Set(["node_modules", "dist", "target"]);
/** Folders whose paths are checked where a text has them in backticks. */
const FOLDERS = /^(?:src|crates|native|test|scripts|docs|bench|examples|packaging)\//;
/** How a document says from which folder its other paths start. */
const BASE = /paths are relative to\s+`([^`]+)`/i;
const SOURCE = /^[\w.-]+\/[\w./{},-]+\.(?:rs|ts|mjs)$/;

/** All markdown files of the checkout, relative to it. */
export function markdownFiles(directory = checkout): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    const isHidden = entry.name.startsWith(".") && entry.name !== ".github";
    if (entry.isDirectory()) {
      return isHidden || SKIPPED.has(entry.name) ? [] : markdownFiles(path);
    }
    return entry.isFile() && entry.name.endsWith(".md") ? [relative(checkout, path)] : [];
  });
}

/** The relative links and the repository's paths in a markdown text, except those in fenced code blocks. */
export function references(markdown: string): Reference[] {
  const prose = markdown.replace(/^(```|~~~)[\s\S]*?^\1/gm, (block) =>
    block.replace(/[^\n]/g, " "),
  );
  const found: Reference[] = [];
  const add = (at: number, text: string, kind: Reference["kind"]) =>
    found.push({ line: prose.slice(0, at).split("\n").length, text, kind });
  const base = BASE.exec(prose)?.[1];
  const withoutCode = prose.replace(/`[^`]*`/g, (code) => code.replace(/[^\n]/g, " "));
  for (const { index, 1: target = "" } of withoutCode.matchAll(/\]\(<?([^)\s>]+)>?[^)]*\)/g)) {
    if (!/^[a-z][a-z\d+.-]*:/i.test(target)) add(index, target, "link");
  }
  for (const { index, 1: code = "" } of prose.matchAll(/`([^`]+)`/g)) {
    const [path = ""] = code.split(/\s/);
    if (path.includes("<")) continue;
    if (FOLDERS.test(path)) add(index, path, "path");
    else if (base !== undefined && SOURCE.test(path)) add(index, `${base}${path}`, "path");
  }
  return found;
}

/** What is wrong with the references of a markdown file of the checkout, one sentence each. */
export function brokenReferences(
  file: string,
  markdown = readFileSync(join(checkout, file), "utf8"),
): string[] {
  return references(markdown)
    .filter((reference) => !leads(file, reference))
    .map(({ line, text, kind }) => `${file}:${line}: the ${kind} ${text} does not exist`);
}

function leads(file: string, { text, kind }: Reference): boolean {
  if (kind === "path") return expand(text).every(isThere);
  const [target = "", anchor] = text.split("#");
  const path = target === "" ? join(checkout, file) : resolve(checkout, dirname(file), target);
  if (!existsSync(path)) return false;
  return anchor === undefined || !path.endsWith(".md") || anchorsOf(path).has(anchor);
}

/** `a/{b,c}.ts` names two files. */
function expand(path: string): string[] {
  const [, before = "", names = "", after = ""] = /^([^{]*)\{([^}]*)\}(.*)$/.exec(path) ?? [];
  if (names === "") return [path];
  return names.split(",").flatMap((name) => expand(`${before}${name}${after}`));
}

/** Of a pattern, the folder that it begins with. What a build or a run makes is not in a fresh checkout. */
function isThere(path: string): boolean {
  const fixed = path.includes("*") ? dirname(path.slice(0, path.indexOf("*") + 1)) : path;
  return existsSync(join(checkout, fixed)) || isIgnored(path);
}

function isIgnored(path: string): boolean {
  const patterns = readFileSync(join(checkout, ".gitignore"), "utf8").split("\n");
  const folders = patterns
    .filter((pattern) => pattern.endsWith("/"))
    .map((own) => own.slice(0, -1));
  return folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
}

/** The anchors of a markdown file's headings, as GitHub makes them. */
function anchorsOf(path: string): Set<string> {
  const prose = readFileSync(path, "utf8").replace(/^```[\s\S]*?^```/gm, "");
  const headings = prose.matchAll(/^#{1,6} +(.*)$/gm);
  const anchors = [...headings].map(([, heading = ""]) =>
    heading
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replace(/\s/g, "-"),
  );
  return new Set(anchors);
}
