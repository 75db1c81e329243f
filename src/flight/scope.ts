import type { Catalog, NamespacePath } from "../catalog/catalog.js";
import { ErrorCode, hasCode, invalidInput } from "../foundation/errors.js";
import { ROOT_SCHEMA } from "../tables/named-table.js";

/** Separates the components of a namespace in the header `namespace-path`. */
const DELIMITER = "$";

/**
 * The namespace of unqualified names. `path` is the header `namespace-path`; `public` is the root. A `database` counts if
 * the root has a namespace of that name: LanceDB's SDK sends the name of every connection, also of one without a namespace.
 *
 * @throws code 13 for a malformed header
 */
export async function namespaceOf(
  catalog: Pick<Catalog, "describeNamespace">,
  database: string | undefined,
  path: string | undefined,
): Promise<NamespacePath> {
  const components = path === undefined || path === ROOT_SCHEMA ? [] : path.split(DELIMITER);
  if (components.includes("")) {
    throw invalidInput(
      "`namespace-path` must be the components of a namespace, joined by `$`; `public` is the root",
    );
  }
  if (database === undefined || !(await exists(catalog, [database]))) return components;
  return [database, ...components];
}

async function exists(
  catalog: Pick<Catalog, "describeNamespace">,
  path: NamespacePath,
): Promise<boolean> {
  try {
    await catalog.describeNamespace(path);
    return true;
  } catch (error) {
    // A name that no namespace can have is invalid input.
    const missing = [ErrorCode.NamespaceNotFound, ErrorCode.InvalidInput];
    if (missing.some((code) => hasCode(error, code))) return false;
    throw error;
  }
}
