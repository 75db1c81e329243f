import { publishedRepository } from "./repository.mjs";

/**
 * The package.json of the published main package, with the platform packages of its version as optional
 * dependencies, and with its repository. The package.json of the checkout omits them, because a checkout must work
 * before they exist.
 *
 * @template {{ name: string, version: string, optionalDependencies?: Record<string, string> }} Manifest
 * @param {Manifest} manifest package.json of the checkout
 * @param {string[]} platforms `linux-x64-gnu`, ...
 */
export function publishedManifest(manifest, platforms) {
  const packages = platforms.map((platform) => [`${manifest.name}-${platform}`, manifest.version]);
  return {
    ...manifest,
    ...publishedRepository(manifest),
    optionalDependencies: { ...manifest.optionalDependencies, ...Object.fromEntries(packages) },
  };
}
