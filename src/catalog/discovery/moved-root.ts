import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { sql } from "kysely";
import type { ClusterMembers } from "../../cluster/members.js";
import type { CatalogDatabase, Write } from "../../database/database.js";

const SETTING = "root";

/**
 * Updates the locations in a SQLite catalog after its local root was moved or copied: locations are absolute paths and
 * would refer to the former root. Returns the former root, and the number of shallow clones, whose manifests still refer
 * to it; undefined when nothing was changed.
 *
 * @throws Error with one sentence when another server uses the root by another path
 */
export async function followMovedRoot(
  db: CatalogDatabase,
  members: ClusterMembers,
  root: string,
): Promise<{ former: string; clones: number } | undefined> {
  return db.write(async (t) => {
    const former = (await recordedRoot(t)) ?? (await guessedRoot(t, root));
    const moved = former !== undefined && !isSameDirectory(former, root);
    if (moved) {
      if (await othersAlive(t, members)) {
        throw new Error(
          `another server uses this root as ${former}: give both the same path, or stop that server first`,
        );
      }
      await rewrite(t, "tables", former, root);
      await rewrite(t, "deregistered_locations", former, root);
      await rewrite(t, "clones", former, root);
      await rewrite(t, "clones", former, root, "source");
    }
    if (moved || former === undefined) await record(t, root);
    return moved ? { former, clones: await countClones(t) } : undefined;
  });
}

async function recordedRoot(t: Write): Promise<string | undefined> {
  const row = await t
    .selectFrom("settings")
    .select("value")
    .where("name", "=", SETTING)
    .executeTakeFirst();
  return row?.value;
}

const record = (t: Write, root: string) =>
  t
    .insertInto("settings")
    .values({ name: SETTING, value: root })
    .onConflict((c) => c.column("name").doUpdateSet({ value: root }))
    .execute();

/**
 * Catalogs of 0.1.0 do not record their root. Nearly all of their tables lie directly in it: when a
 * table exists in this root by its name, the directory of its recorded location is the former root.
 */
async function guessedRoot(t: Write, root: string): Promise<string | undefined> {
  const rows = await t.selectFrom("tables").select("location").execute();
  const elsewhere = rows
    .map(({ location }) => location)
    .filter((location) => !location.startsWith(root + sep));
  const moved = elsewhere.find((location) => existsSync(join(root, basename(location))));
  return moved && dirname(moved);
}

async function othersAlive(t: Write, members: ClusterMembers): Promise<boolean> {
  const { rows } = await sql`
    select id from servers where id <> ${members.self} and id in ${members.alive()} limit 1`.execute(
    t,
  );
  return rows.length > 0;
}

async function rewrite(
  t: Write,
  table: "tables" | "deregistered_locations" | "clones",
  from: string,
  to: string,
  column: "location" | "source" = "location",
): Promise<void> {
  const former = sql.ref(column);
  const current = sql`${to} || substr(${former}, length(${from}) + 1)`;
  // An adopted table may have the new location already.
  const isFree =
    column === "location"
      ? sql`${current} not in (select location from ${sql.table(table)})`
      : sql`true`;
  await sql`
    update ${sql.table(table)} set ${former} = ${current}
    where substr(${former}, 1, length(${from}) + 1) = ${from + sep} and ${isFree}`.execute(t);
}

async function countClones(t: Write): Promise<number> {
  const counted = t.selectFrom("clones").select((e) => e.fn.countAll<number>().as("count"));
  return (await counted.executeTakeFirstOrThrow()).count;
}

/** Whether two paths are the same directory, for example a symbolic link and its target. */
function isSameDirectory(a: string, b: string): boolean {
  if (a === b) return true;
  try {
    return realpathSync(a) === realpathSync(b);
  } catch {
    return false;
  }
}
