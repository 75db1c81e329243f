/**
 * The bundle: few files in place of more than a thousand modules, because the load of a module takes Node more time
 * than its code.
 */
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { basename, join } from "node:path";
import { rolldown } from "rolldown";
import { npmLicences } from "../packages/licences.mjs";
import { root } from "./paths.mjs";

/** The files that a program, a thread or an import of others names. */
const ENTRIES = ["cli/main", "server/worker", "engine/index"];
/** The declarations of `joust/engine`. */
const DECLARATIONS = ["engine/index.d.ts", "engine/native.d.ts"];

/**
 * The npm packages that the bundle contains: those of many modules, without dependencies of their own. They are in
 * `devDependencies`. All other imported packages are in `dependencies`, and npm installs them beside the bundle.
 */
export const BUNDLED = ["@sinclair/typebox", "kysely", "uuid"];

/**
 * Bundles the compiled modules in `modules` to `dist`. Both are folders of the checkout. Every file is in a folder of
 * `dist`, as src/foundation/package-files.ts requires.
 */
export async function bundle(modules, dist) {
  const build = await rolldown({
    input: Object.fromEntries(ENTRIES.map((name) => [name, join(modules, `${name}.js`)])),
    platform: "node",
    external: isExternal,
    // The path from `dist` to the loader of the engine is the path from `modules`.
    makeAbsoluteExternalsRelative: false,
  });
  const { output } = await build.write({
    dir: dist,
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name].js",
    // A stack trace shows whose code failed.
    codeSplitting: {
      groups: BUNDLED.map((name) => ({ name: basename(name), test: `node_modules/${name}/` })),
    },
  });
  await build.close();
  checkImports(output);
  for (const name of DECLARATIONS) copyFileSync(join(modules, name), join(dist, name));
  const introduction = "The files of joust contain these npm packages.";
  writeFileSync(join(dist, "THIRD-PARTY-LICENSES"), npmLicences(introduction, BUNDLED));
}

/** Relative and absolute paths are modules of joust or of a bundled package, except the engine's loader. */
function isExternal(id) {
  return id.endsWith("/native/index.js") || (isPackage(id) && !BUNDLED.includes(packageName(id)));
}

/** An installation lacks the packages of `devDependencies`. */
function checkImports(output) {
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const files = new Set(output.map(({ fileName }) => fileName));
  const imports = output.flatMap((file) => [
    ...(file.imports ?? []),
    ...(file.dynamicImports ?? []),
  ]);
  const packages = imports.filter((id) => isPackage(id) && !files.has(id)).map(packageName);
  const missing = packages.find((name) => !Object.hasOwn(dependencies, name));
  if (missing === undefined) return;
  throw new Error(
    `the sources import ${missing}: add it to dependencies of package.json, or to BUNDLED of scripts/build/bundle.mjs`,
  );
}

/** Neither a path nor a module of Node. */
const isPackage = (id) => /^[@a-z]/i.test(id) && !isBuiltin(id);

/** The package of an import: `@scope/name` of `@scope/name/file`. */
const packageName = (id) => /^(?:@[^/]+\/)?[^/]+/.exec(id)?.[0];
