/**
 * The npm packages that the bundle contains, so that an installation does not load their many modules one by one. They
 * are in `devDependencies` and have no dependencies of their own. All other packages that the sources import are in
 * `dependencies`, and npm installs them beside the bundle.
 */
export const BUNDLED = ["@sinclair/typebox", "kysely", "uuid"];
