import type { Catalog } from "../../catalog/catalog.js";
import { ErrorCode, hasCode } from "../../foundation/errors.js";
import { identifier, ROOT_SCHEMA } from "../../tables/named-table.js";

/** The identifier that a name in a statement stands for, whether or not the object exists. */
export async function idOf(
  { catalog }: { readonly catalog: Pick<Catalog, "describeNamespace"> },
  name: readonly string[],
  namespace: readonly string[],
): Promise<string[]> {
  const id = identifier(name, namespace);
  if (id[0] !== ROOT_SCHEMA || id.length !== 2) return id;
  try {
    await catalog.describeNamespace([ROOT_SCHEMA]);
    return id;
  } catch (error) {
    if (hasCode(error, ErrorCode.NamespaceNotFound)) return id.slice(1);
    throw error;
  }
}
