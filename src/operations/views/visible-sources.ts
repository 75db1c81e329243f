import type { Services } from "../../api/services.js";
import { ErrorCode, hasCode, JoustError } from "../../foundation/errors.js";
import { onTable } from "../../tables/open-table.js";

const HIDDEN = [
  ErrorCode.TableNotFound,
  ErrorCode.NamespaceNotFound,
  ErrorCode.PermissionDenied,
] as const;

/**
 * Checks that the caller may read all sources of a view. `services`: what the caller may see.
 *
 * @throws code 15 without the name of a source: the caller may not see it
 */
export async function checkSources(
  services: Pick<Services, "catalog" | "config" | "engine">,
  id: readonly string[],
): Promise<void> {
  const { tables } = await onTable(services, id, ({ table }) => table.view());
  try {
    await Promise.all(tables.map(({ table }) => services.catalog.table(table)));
  } catch (error) {
    if (!HIDDEN.some((code) => hasCode(error, code))) throw error;
    throw new JoustError(
      ErrorCode.PermissionDenied,
      "the view reads tables that do not exist or that this caller may not read: the request needs the privilege select on all of its sources",
    );
  }
}
