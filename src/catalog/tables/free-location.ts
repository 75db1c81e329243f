import { dirname } from "node:path";
import type { Write } from "../../database/database.js";

/**
 * Whether a location neither contains nor lies inside the location of another table or of a deregistered one. A
 * unique index of the database prevents equal locations of tables.
 */
export async function isLocationFree(t: Write, location: string): Promise<boolean> {
  const inside = { from: `${location}/`, to: `${location}0` };
  const tables = t
    .selectFrom("tables")
    .select("location")
    .where((e) =>
      e.or([
        e("location", "in", ancestors(location)),
        e.and([e("location", ">=", inside.from), e("location", "<", inside.to)]),
      ]),
    )
    .limit(1);
  const deregistered = t
    .selectFrom("deregistered_locations")
    .select("location")
    .where((e) =>
      e.or([
        e("location", "in", [location, ...ancestors(location)]),
        e.and([e("location", ">=", inside.from), e("location", "<", inside.to)]),
      ]),
    )
    .limit(1);
  return !(await tables.executeTakeFirst()) && !(await deregistered.executeTakeFirst());
}

/** The directories that contain a location. */
function ancestors(location: string): string[] {
  const directories: string[] = [];
  let at = dirname(location);
  while (at !== "." && at !== "/" && !at.endsWith(":")) {
    directories.push(at);
    at = dirname(at);
  }
  return directories.length > 0 ? directories : [""];
}
