import { dirname } from "node:path";
import type { Write } from "../../database/database.js";

/**
 * Whether no table, and no deregistered table's files, are at a location, around it or inside it.
 * Exactly equal locations of tables are kept apart by the database itself.
 */
export async function isFree(t: Write, location: string): Promise<boolean> {
  const inside = { from: `${location}/`, to: `${location}0` };
  const tables = t
    .selectFrom("tables")
    .select("location")
    .where((e) =>
      e.or([
        e("location", "in", around(location)),
        e.and([e("location", ">=", inside.from), e("location", "<", inside.to)]),
      ]),
    )
    .limit(1);
  const deregistered = t
    .selectFrom("deregistered_locations")
    .select("location")
    .where((e) =>
      e.or([
        e("location", "in", [location, ...around(location)]),
        e.and([e("location", ">=", inside.from), e("location", "<", inside.to)]),
      ]),
    )
    .limit(1);
  return !(await tables.executeTakeFirst()) && !(await deregistered.executeTakeFirst());
}

/** The directories that a location is in. */
function around(location: string): string[] {
  const found: string[] = [];
  let at = dirname(location);
  while (at !== "." && at !== "/" && !at.endsWith(":")) {
    found.push(at);
    at = dirname(at);
  }
  return found.length > 0 ? found : [""];
}
