import { ErrorCode, hasCode } from "../foundation/errors.js";
import { type OpenTable, onTable, type TableDependencies } from "./open-table.js";

/** Separates the components of an identifier in SQL. */
const DELIMITER = "$";
/** SQL name of the root namespace, unless the catalog has a namespace of this name. */
export const ROOT_SCHEMA = "public";

/** What the names in a query are relative to. Both are complete paths. */
export interface NameScope {
  /** The start of names of several parts; [] is the root. */
  readonly database: readonly string[];
  /** The namespace of names of one part. It is the database or below it. */
  readonly namespace: readonly string[];
}

/**
 * Resolves a name in a query to a complete identifier: `a.b.t` starts at the database, `t` is in the namespace. A quoted
 * part may hold several components: "a$b".t or "a$b$t".
 */
export function identifier(name: readonly string[], { database, namespace }: NameScope): string[] {
  const id = name.flatMap((part) => part.split(DELIMITER));
  if (id.length === 1) return [...namespace, ...id];
  return [...database, ...(id[0] === "" ? id.slice(1) : id)];
}

/**
 * The table that an identifier stands for if no namespace is called `public`; undefined if the identifier does not
 * begin with that name.
 */
export function inRootSchema(id: readonly string[], { database }: NameScope): string[] | undefined {
  const [schema, ...rest] = id.slice(database.length);
  return schema === ROOT_SCHEMA && rest.length === 1 ? [...database, ...rest] : undefined;
}

/** Runs work on the table that a name in a query refers to. @throws code 1 or 4 when there is none */
export async function onNamedTable<T>(
  services: TableDependencies,
  name: readonly string[],
  scope: NameScope,
  work: (open: OpenTable) => Promise<T>,
): Promise<T> {
  const id = identifier(name, scope);
  const inRoot = inRootSchema(id, scope);
  if (!inRoot) return onTable(services, id, work);
  try {
    return await onTable(services, id, work);
  } catch (error) {
    if (!hasCode(error, ErrorCode.NamespaceNotFound)) throw error;
    return onTable(services, inRoot, work);
  }
}
