import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { rustImports } from "./rust-imports.mjs";
import { folderOf, typescriptImports } from "./typescript-imports.mjs";

const RUST = "crates/joust-core/src";
const TYPESCRIPT = "src";

/**
 * @typedef {object} Source
 * @property {string} file its path in the checkout
 * @property {string} module the top module of joust-core, or the folder of `src/`, that contains it
 * @property {string[]} imports the other modules or folders that it imports
 */

/** The Rust files of joust-core without its tests and lib.rs. @param {string} root the checkout @returns {Source[]} */
export function rustSources(root) {
  return read(root, RUST, ".rs")
    .filter(({ file }) => !/(^|[/_])tests\.rs$|\/tests\//.test(file))
    .map(({ file, text }) => ({ file, text, path: modulePath(file) }))
    .filter(({ path }) => path.length > 0)
    .map(({ file, text, path }) => ({ file, module: path[0], imports: rustImports(text, path) }));
}

/** The TypeScript files of `src/`. @param {string} root the checkout @returns {Source[]} */
export function typescriptSources(root) {
  return read(root, TYPESCRIPT, ".ts").map(({ file, text }) => {
    return { file, module: folderOf(file), imports: typescriptImports(text, file) };
  });
}

/** `["query", "plan"]` of `.../src/query/plan.rs`, `["query"]` of `.../src/query/mod.rs`, `[]` of lib.rs. */
function modulePath(file) {
  const path = file.slice(RUST.length + 1, -".rs".length).split("/");
  if (path.at(-1) === "mod") path.pop();
  return path.join() === "lib" ? [] : path;
}

function read(root, folder, extension) {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(extension))
    .map((name) => `${folder}/${name.split(sep).join("/")}`)
    .sort()
    .map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }));
}
