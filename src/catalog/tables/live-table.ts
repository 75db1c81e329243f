import type { CatalogDatabase, Write } from "../../database/database.js";
import type { TableId } from "../catalog.js";
import { splitPath } from "../path.js";
import { TABLE_COLUMNS } from "../records.js";
import type { TableRow } from "./insert-table.js";

/** Returns the row of a live table and locks it until the end of the transaction. */
export function liveTable(
  db: CatalogDatabase,
  t: Write,
  id: TableId,
): Promise<TableRow | undefined> {
  const { parent, name } = splitPath(id);
  return t
    .selectFrom("tables")
    .select(TABLE_COLUMNS)
    .where("namespace", "=", parent)
    .where("name", "=", name)
    .where("state", "=", "live")
    .$if(db.kind === "postgres", (query) => query.forUpdate())
    .executeTakeFirst();
}
