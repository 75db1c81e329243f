import { posix } from "node:path";

const IMPORT = /(?:\bfrom|\bimport|\bimport\()\s*"(\.{1,2}\/[^"]+)"/g;

/**
 * The folders of `src/` (or single files in it) that a source imports, types included, without its own.
 *
 * @param {string} source the text of the file
 * @param {string} file its path in the checkout: `src/http/router.ts`
 * @returns {Set<string>} `catalog` for a folder, `errors` for `src/errors.ts`, `native` for the addon
 */
export function typescriptImports(source, file) {
  const own = place(file);
  const folders = new Set();
  for (const [, specifier] of source.matchAll(IMPORT)) {
    const target = place(posix.join(posix.dirname(file), specifier));
    if (target !== own) folders.add(target);
  }
  return folders;
}

/** The folder of `src/` that a file is in; a file directly in `src/` is its own place. */
export function place(file) {
  const [top, first = ""] = file.split("/");
  return top === "src" ? first.replace(/\.(js|ts)$/, "") : top;
}
