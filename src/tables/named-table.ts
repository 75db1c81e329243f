import { ErrorCode, hasCode } from "../foundation/errors.js";
import { type OpenTable, onTable, type TableDependencies } from "./open-table.js";

/** Separates the components of an identifier in SQL. */
const DELIMITER = "$";
/** SQL name of the root namespace, unless the catalog has a namespace of this name. */
export const ROOT_SCHEMA = "public";

/**
 * Resolves a name in a query to an identifier: `a.b.t` starts at the root, `t` is in `namespace`. A quoted part may
 * hold several components: "a$b".t or "a$b$t".
 */
export function identifier(name: readonly string[], namespace: readonly string[]): string[] {
  const id = name.flatMap((part) => part.split(DELIMITER));
  if (id.length === 1) return [...namespace, ...id];
  return id[0] === "" ? id.slice(1) : id;
}

/** Runs work on the table that a name in a query refers to. @throws code 1 or 4 when there is none */
export async function onNamedTable<T>(
  services: TableDependencies,
  name: readonly string[],
  namespace: readonly string[],
  work: (open: OpenTable) => Promise<T>,
): Promise<T> {
  const id = identifier(name, namespace);
  const [schema, ...rest] = id;
  if (schema !== ROOT_SCHEMA || rest.length !== 1) return onTable(services, id, work);
  try {
    return await onTable(services, id, work);
  } catch (error) {
    if (!hasCode(error, ErrorCode.NamespaceNotFound)) throw error;
    return onTable(services, rest, work);
  }
}
