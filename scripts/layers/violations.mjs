/** @import { Finding } from "../tasks/known-findings.mjs" @import { Source } from "./sources.mjs" */
import { RUST_LAYERS, TYPESCRIPT_IMPORTS } from "./rules.mjs";

const RULES = "scripts/layers/rules.mjs";
const LAYERS = Object.keys(RUST_LAYERS);
const RUST_MODULES = Object.values(RUST_LAYERS).flat();
const TYPESCRIPT_FOLDERS = Object.keys(TYPESCRIPT_IMPORTS);

/** The imports of joust-core that the layers forbid. @param {readonly Source[]} sources */
export const rustViolations = (sources) => violations(sources, RUST_MODULES, rustRule);

/** The imports of `src/` that the layers forbid. @param {readonly Source[]} sources */
export const typescriptViolations = (sources) =>
  violations(sources, TYPESCRIPT_FOLDERS, typescriptRule);

/**
 * @param {readonly Source[]} sources
 * @param {readonly string[]} known the modules that have a rule
 * @param {(module: string, target: string) => string | undefined} brokenRule the rule that an import breaks
 * @returns {Finding[]}
 */
function violations(sources, known, brokenRule) {
  return sources.flatMap(({ file, module, imports }) => {
    if (!known.includes(module)) {
      return [
        { entry: `${file}: no rule`, message: `${file}: ${RULES} does not name \`${module}\`` },
      ];
    }
    return imports.flatMap((target) => {
      const rule = brokenRule(module, target);
      if (rule === undefined) return [];
      return [
        { entry: `${file} -> ${target}`, message: `${file} must not import ${target}: ${rule}` },
      ];
    });
  });
}

const layerOf = (module) => LAYERS.findIndex((layer) => RUST_LAYERS[layer].includes(module));

/** A target without a layer is an item that lib.rs re-exports. */
function rustRule(module, target) {
  const [below, above] = [layerOf(module), layerOf(target)];
  if (above <= below) return undefined;
  return `\`${module}\` is in the layer "${LAYERS[below]}", below "${LAYERS[above]}" of \`${target}\``;
}

function typescriptRule(folder, target) {
  const allowed = TYPESCRIPT_IMPORTS[folder];
  if (allowed.includes(target)) return undefined;
  return `\`${folder}\` may import: ${allowed.join(", ") || "nothing"}`;
}
