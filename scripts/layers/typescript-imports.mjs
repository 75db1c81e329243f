import { posix } from "node:path";

const IMPORT = /(?:\bfrom|\bimport|\bimport\()\s*"(\.{1,2}\/[^"]+)"/g;

/**
 * The other folders of `src/` that a source imports, type imports included.
 *
 * @param {string} source the text of the file
 * @param {string} file its path in the checkout: `src/http/router.ts`
 * @returns {string[]} `catalog` for a folder, `errors` for `src/errors.ts`, `native` for the addon
 */
export function typescriptImports(source, file) {
  const folders = new Set();
  for (const [, specifier] of source.matchAll(IMPORT)) {
    folders.add(folderOf(posix.join(posix.dirname(file), specifier)));
  }
  folders.delete(folderOf(file));
  return [...folders].sort();
}

/** The folder of `src/` that contains a file; for a file directly in `src/` its own name. */
export function folderOf(file) {
  const [top, first = ""] = file.split("/");
  return top === "src" ? first.replace(/\.(js|ts)$/, "") : top;
}
