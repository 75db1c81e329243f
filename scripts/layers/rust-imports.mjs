/**
 * The other top modules of its crate that a Rust source names outside its tests.
 *
 * Reads text instead of a syntax tree: `crate::a`, `use crate::{a, b::{c}}`, and `super::` that leaves the
 * top module. It does not see a module that only a macro names.
 *
 * @param {string} source the text of the file
 * @param {readonly string[]} path the file's module path: `["query", "plan"]`
 * @returns {string[]} names of top modules, and of items that lib.rs re-exports; without its own module
 */
export function rustImports(source, path) {
  const text = withoutTests(withoutComments(source));
  const names = new Set();
  for (const [, rest] of text.matchAll(/\bcrate::(\w+)/g)) names.add(rest);
  for (const match of text.matchAll(/\bcrate::\{/g)) {
    for (const name of firstNames(text, match.index + match[0].length)) names.add(name);
  }
  for (const [chain, , name] of text.matchAll(/\b((?:super::)+)(\w+)/g)) {
    if (chain.split("super::").length - 1 === path.length) names.add(name);
  }
  names.delete("self");
  names.delete(path[0]);
  return [...names].sort();
}

/** The first segment of each entry of a `{...}` list of a use tree, which begins at `start`. */
function firstNames(text, start) {
  const names = [];
  let depth = 0;
  let entryBegins = true;
  for (const [token] of text.slice(start).matchAll(/[{},]|\w+/g)) {
    if (token === "{") depth += 1;
    else if (token === "}" && depth === 0) break;
    else if (token === "}") depth -= 1;
    else if (token === "," && depth === 0) entryBegins = true;
    else if (token !== "," && depth === 0 && entryBegins) {
      names.push(token);
      entryBegins = false;
    }
  }
  return names;
}

const withoutComments = (source) => source.replace(/\/\/.*$/gm, "");

/** Inline test modules stand at the end of a file. */
const withoutTests = (source) => source.split(/#\[cfg\(test\)\]\s*mod tests \{/)[0] ?? "";
