import type { Catalog } from "../../catalog/catalog.js";
import { ErrorCode, hasCode } from "../../foundation/errors.js";
import { identifier, inRootSchema, type NameScope } from "../../tables/named-table.js";

/** The identifier that a name in a statement stands for, whether or not the object exists. */
export async function idOf(
  { catalog }: { readonly catalog: Pick<Catalog, "describeNamespace"> },
  name: readonly string[],
  scope: NameScope,
): Promise<string[]> {
  const id = identifier(name, scope);
  const inRoot = inRootSchema(id, scope);
  if (!inRoot) return id;
  try {
    await catalog.describeNamespace(id.slice(0, -1));
    return id;
  } catch (error) {
    if (hasCode(error, ErrorCode.NamespaceNotFound)) return inRoot;
    throw error;
  }
}
