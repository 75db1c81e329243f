/** @import { Finding } from "../tasks/known-findings.mjs" @import { Source } from "./sources.mjs" */

/**
 * The modules that are part of an import cycle: each imports itself through others.
 *
 * @param {readonly Source[]} sources
 * @returns {Finding[]} a finding a module
 */
export function cycles(sources) {
  const imports = new Map();
  for (const { module, imports: targets } of sources) {
    imports.set(module, [...(imports.get(module) ?? []), ...targets]);
  }
  const modules = [...imports.keys()].sort();
  const reached = new Map(modules.map((module) => [module, reach(module, imports)]));
  return modules
    .filter((module) => reached.get(module).has(module))
    .map((module) => {
      const others = [...reached.get(module)].filter((other) => reached.get(other)?.has(module));
      const names = others.filter((other) => other !== module).sort();
      return {
        entry: `cycle: ${module}`,
        message: `\`${module}\` is in an import cycle with ${names.join(", ")}`,
      };
    });
}

/** All modules that a module imports, directly or through others. */
function reach(module, imports) {
  const reached = new Set(imports.get(module));
  for (const next of reached) for (const target of imports.get(next) ?? []) reached.add(target);
  return reached;
}
