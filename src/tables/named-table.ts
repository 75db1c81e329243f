import { ErrorCode, hasCode } from "../foundation/errors.js";
import { type Opening, type OpenTable, onTable } from "./open-table.js";

/** Joins the components of an identifier in SQL. */
const DELIMITER = "$";
/** The root namespace, unless the catalog has a namespace of this name. */
export const ROOT_SCHEMA = "public";

/**
 * The identifier that a name in a query stands for: `a.b.t` begins at the root, `t` is in `namespace`, and a
 * quoted part may be several components, "a$b".t or "a$b$t".
 */
export function identifier(name: readonly string[], namespace: readonly string[]): string[] {
  const id = name.flatMap((part) => part.split(DELIMITER));
  if (id.length === 1) return [...namespace, ...id];
  return id[0] === "" ? id.slice(1) : id;
}

/** Works on the table that a name in a query stands for. @throws code 1 or 4 when there is none */
export async function onNamedTable<T>(
  services: Opening,
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
