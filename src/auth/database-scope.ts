import type { Services } from "../api/services.js";
import type { NamespacePath } from "../catalog/catalog.js";
import { CallerPrivileges } from "../catalog/grants/caller-privileges.js";
import type { HeldGrants } from "../catalog/grants/held-grants.js";
import { roleBundles } from "../catalog/grants/privileges.js";
import type { Identity } from "./authenticator.js";
import { subjectsOf } from "./subjects.js";

const ROOT: NamespacePath = Object.freeze([]);

/**
 * The namespace that the name of a database selects for a caller: all names in the request are relative to it. [] is the
 * root. The reasons are in docs/design/databases.md.
 *
 * Returns a promise only if the catalog or the grants of the caller are not in memory.
 */
export function databaseScope(
  { catalog, grants, config }: Pick<Services, "catalog" | "grants" | "config">,
  identity: Identity,
  name: string,
): NamespacePath | Promise<NamespacePath> {
  if (name === "" || config.lancedbDatabases === "ignored") return ROOT;
  const database = [name];
  if (config.lancedbDatabases === "required") return database;

  const visible = (held: readonly HeldGrants[]): NamespacePath => {
    const privileges = new CallerPrivileges(roleBundles[identity.role], held);
    return privileges.seesNamespace(database) ? database : ROOT;
  };
  const decide = (isDatabase: boolean): NamespacePath | Promise<NamespacePath> => {
    if (!isDatabase) return ROOT;
    // A role sees every namespace.
    if (identity.role !== "none") return database;
    const subjects = subjectsOf(identity);
    const held = grants.heldSync(subjects);
    return held ? visible(held) : grants.held(subjects).then(visible);
  };
  const isDatabase = catalog.isDatabaseSync(name);
  return isDatabase === undefined ? catalog.isDatabase(name).then(decide) : decide(isDatabase);
}
