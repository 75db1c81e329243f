import type { NamespacePath } from "../catalog/catalog.js";
import { invalidInput } from "../foundation/errors.js";
import { ROOT_SCHEMA } from "../tables/named-table.js";

/** Separates the components of a namespace in the header `namespace-path`. */
const DELIMITER = "$";

/**
 * The namespace of unqualified names, below the database: the header `namespace-path`. `public` is the database itself.
 *
 * @throws code 13 for a malformed header
 */
export function namespacePath(path: string | undefined): NamespacePath {
  const components = path === undefined || path === ROOT_SCHEMA ? [] : path.split(DELIMITER);
  if (!components.includes("")) return components;
  throw invalidInput(
    "`namespace-path` must be the components of a namespace, joined by `$`; `public` is the root",
  );
}
