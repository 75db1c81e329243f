import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { RUST_LAYERS, TYPESCRIPT_IMPORTS, TYPESCRIPT_TOP } from "./rules.mjs";
import { rustImports } from "./rust-imports.mjs";
import { place, typescriptImports } from "./typescript-imports.mjs";

const RUST = "crates/joust-core/src";
const TYPESCRIPT = "src";

/**
 * @typedef {object} Violation
 * @property {string} file the importing file, by its path in the checkout
 * @property {string} target the module or folder that it must not import
 * @property {string} rule why
 */

/**
 * All imports of a checkout that go against the layers, sorted by file.
 *
 * @param {string} root the checkout
 * @returns {Violation[]}
 */
export function violations(root) {
  const found = [...rustViolations(root), ...typescriptViolations(root)];
  return found.sort((a, b) => compare(line(a), line(b)));
}

/** A violation as one line of the list of known ones. */
export const line = ({ file, target }) => `${file} -> ${target}`;

function* rustViolations(root) {
  const levels = new Map();
  for (const [level, { modules }] of RUST_LAYERS.entries()) {
    for (const module of modules) levels.set(module, level);
  }
  for (const { file, text } of sources(root, RUST, ".rs")) {
    if (/(^|[/_])tests\.rs$/.test(file) || file.includes("/tests/")) continue;
    const path = modulePath(file);
    const module = path[0];
    if (module === undefined) continue;
    const own = levels.get(module);
    if (own === undefined) {
      yield { file, target: module, rule: `scripts/layers/rules.mjs gives \`${module}\` no layer` };
      continue;
    }
    for (const target of rustImports(text, path)) {
      const level = levels.get(target);
      if (level === undefined || level <= own) continue;
      const [above, below] = [RUST_LAYERS[level].layer, RUST_LAYERS[own].layer];
      const rule = `\`${module}\` is in the layer "${below}", below "${above}" of \`${target}\``;
      yield { file, target, rule };
    }
  }
}

function* typescriptViolations(root) {
  for (const { file, text } of sources(root, TYPESCRIPT, ".ts")) {
    const own = place(file);
    if (TYPESCRIPT_TOP.includes(own)) continue;
    const allowed = TYPESCRIPT_IMPORTS.get(own);
    if (!allowed) {
      yield { file, target: own, rule: `scripts/layers/rules.mjs does not name \`${own}\`` };
      continue;
    }
    for (const target of typescriptImports(text, file)) {
      if (allowed.includes(target)) continue;
      yield { file, target, rule: `\`${own}\` may import: ${allowed.join(", ") || "nothing"}` };
    }
  }
}

/** `["query", "plan"]` of `.../src/query/plan.rs`, `["query"]` of `.../src/query/mod.rs`, `[]` of lib.rs. */
function modulePath(file) {
  const path = file.slice(RUST.length + 1, -".rs".length).split("/");
  if (path.at(-1) === "mod") path.pop();
  return path.length === 1 && path[0] === "lib" ? [] : path;
}

function* sources(root, folder, ending) {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  for (const name of names.filter((name) => name.endsWith(ending))) {
    const file = `${folder}/${name.split(sep).join("/")}`;
    yield { file, text: readFileSync(join(root, file), "utf8") };
  }
}

const compare = (a, b) => (a < b ? -1 : Number(a > b));
