/**
 * The main package's package.json as it is published: it lists the platform packages of its own version. A
 * checkout does not list them, because it has to work before they exist.
 *
 * @template {{ name: string, version: string, optionalDependencies?: Record<string, string> }} Manifest
 * @param {Manifest} manifest package.json of the checkout
 * @param {string[]} platforms `linux-x64-gnu`, ...
 */
export function publishedManifest(manifest, platforms) {
  const packages = platforms.map((platform) => [`${manifest.name}-${platform}`, manifest.version]);
  return {
    ...manifest,
    optionalDependencies: { ...manifest.optionalDependencies, ...Object.fromEntries(packages) },
  };
}
