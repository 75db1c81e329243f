/**
 * The bundle: few files in place of more than a thousand modules, because Node needs more time to load a module than to
 * run it.
 */
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { npmLicences } from "../packages/licences.mjs";
import { BUNDLED, PACKAGE_CHUNKS } from "./bundled.mjs";
import { root } from "./paths.mjs";

/** The program, the worker thread, and the library `joust/engine`. */
const ENTRIES = ["cli/main", "server/worker", "engine/index"];
/** The declarations of `joust/engine`. */
const DECLARATIONS = ["engine/index.d.ts", "engine/native.d.ts"];
/** How src/engine/native.ts imports the loader of the engine. The path is the same from each file of the bundle. */
const LOADER = "../../native/index.js";
/** A chunk of so many modules of joust contains the server. */
const LARGE = 100;

/**
 * Bundles the compiled modules in `modules`, a folder of the checkout, to `dist`. Every file is in a folder of `dist`,
 * as src/foundation/package-files.ts requires.
 */
export async function bundle(modules, dist) {
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(ENTRIES.map((name) => [name, join(modules, `${name}.js`)])),
    platform: "node",
    external: isExternal,
    makeAbsoluteExternalsRelative: false,
    onLog: (level, { message }) => {
      if (level === "warn") throw new Error(message);
    },
  });
  const { output } = await build.write({
    dir: dist,
    entryFileNames: "[name].js",
    chunkFileNames: (chunk) => `chunks/${chunkName(chunk)}.js`,
    codeSplitting: {
      groups: Object.entries(PACKAGE_CHUNKS).map(([name, packages]) => ({
        name,
        test: pathsIn(packages),
      })),
    },
  });
  await build.close();
  checkImports(output);
  checkPackages(output);
  for (const name of DECLARATIONS) copyFileSync(join(modules, name), join(dist, name));
  // The bundle also contains a few lines of rolldown.
  const licences = npmLicences("The files of joust contain these npm packages.", [
    ...BUNDLED,
    "rolldown",
  ]);
  writeFileSync(join(dist, "THIRD-PARTY-LICENSES"), licences);
}

/** A name that tells in a stack trace whose code failed. rolldown names a chunk after one of its modules. */
function chunkName({ name, moduleIds }) {
  const isPackage = moduleIds.some((id) => id.includes("node_modules"));
  return isPackage || moduleIds.length < LARGE ? name : "server";
}

/** Matches the paths of the modules of packages. */
function pathsIn(packages) {
  const names = packages.map((name) => name.replace("/", "[\\\\/]")).join("|");
  return new RegExp(`node_modules[\\\\/](?:${names})[\\\\/]`);
}

/**
 * Whether the bundle imports a module in place of containing it. rolldown asks twice: for the text of the import, and
 * for the absolute path of the module.
 */
export function isExternal(id, _importer, isResolved) {
  return !isResolved && (id === LOADER || (isPackage(id) && !BUNDLED.includes(packageName(id))));
}

/** Requires that an installation has what the bundle imports. It lacks the packages of `devDependencies`. */
function checkImports(output) {
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const present = new Set([LOADER, ...output.map(({ fileName }) => fileName)]);
  const imports = output.flatMap((file) => [
    ...(file.imports ?? []),
    ...(file.dynamicImports ?? []),
  ]);
  for (const id of imports) {
    if (present.has(id) || isBuiltin(id) || Object.hasOwn(dependencies, packageName(id))) continue;
    throw new Error(
      `the bundle imports ${id}: add the package to dependencies of package.json, or to BUNDLED of scripts/build/bundled.mjs`,
    );
  }
}

/** Requires that the bundle contains each package of `BUNDLED`: the licences and the bill of materials list them. */
function checkPackages(output) {
  const modules = output.flatMap((file) => file.moduleIds ?? []);
  const unused = BUNDLED.find((name) => !modules.some((id) => pathsIn([name]).test(id)));
  if (unused === undefined) return;
  throw new Error(`the bundle has no module of ${unused}: remove it in scripts/build/bundled.mjs`);
}

const isPackage = (id) => /^[@a-z]/i.test(id) && !isBuiltin(id);

/** The package of an import: `@scope/name` of `@scope/name/file`. */
const packageName = (id) => /^(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? id;
