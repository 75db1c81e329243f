import type { Insertable, Selectable } from "kysely";
import type { Write } from "../../database/database.js";
import type { TablesRow } from "../../database/schema.js";
import { violation } from "../../database/sql-error.js";
import type { TableId } from "../catalog.js";
import { namespaceNotFound, tableExists } from "../failures.js";
import { TABLE_COLUMNS } from "../records.js";
import { isLocationFree } from "./free-location.js";

export type TableRow = Pick<Selectable<TablesRow>, (typeof TABLE_COLUMNS)[number]>;

/**
 * Returns undefined when the location is in use and the name is free.
 *
 * @throws code 1 without the namespace, 5 when the name exists
 */
export async function insertTable(
  t: Write,
  id: TableId,
  row: Insertable<TablesRow>,
): Promise<TableRow | undefined> {
  const inserted = (await isLocationFree(t, row.location))
    ? await t
        .insertInto("tables")
        .values(row)
        .onConflict((c) => c.doNothing())
        .returning(TABLE_COLUMNS)
        .executeTakeFirst()
        .catch((error) => {
          throw violation(error) === "foreign-key" ? namespaceNotFound(id.slice(0, -1)) : error;
        })
    : undefined;
  if (inserted) return inserted;
  const sameName = await t
    .selectFrom("tables")
    .select("key")
    .where("namespace", "=", row.namespace ?? "")
    .where("name", "=", row.name)
    .executeTakeFirst();
  if (sameName) throw tableExists(id);
  return undefined;
}
