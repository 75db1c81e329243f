import type { Requirement } from "../../api/access.js";
import type { TableId } from "../../catalog/catalog.js";
import { tableObject } from "../../catalog/grants/grants.js";

/** What a request needs that replaces all rows of a table. It also removes rows, whatever row filter the caller has. */
export function toReplaceRows(id: TableId): Requirement[] {
  const object = tableObject(id);
  return [
    { object, privileges: ["update", "delete"], allRows: true },
    { object, privileges: ["insert"], allRows: true },
  ];
}
