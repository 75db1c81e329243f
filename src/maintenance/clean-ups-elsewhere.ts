import type { Catalog } from "../catalog/catalog.js";
import type { CleanUpElsewhere, CleanUps } from "../catalog/clean-ups.js";
import type { Engine, GivenUp } from "../engine/index.js";
import type { Logger } from "../telemetry/logger.js";

/** How often clean-ups of other servers are looked for, ms. */
const INTERVAL = 250;

interface Surroundings {
  cleanUps: Pick<CleanUps, "elsewhere" | "answer">;
  catalog: Pick<Catalog, "tableByKey">;
  engine: Engine;
  /** What reaching the root needs; a table's own options come on top. */
  storageOptions: Record<string, string>;
  log: Logger;
}

/**
 * Tells other servers that clean up which versions this one needs, and lets nobody have the others meanwhile.
 * Resolves when it knows of those under way, which may have begun before this server was there; gives back how
 * to stop.
 */
export async function watchCleanUps(surroundings: Surroundings): Promise<() => Promise<void>> {
  const { cleanUps, log } = surroundings;
  const known = new Map<string, GivenUp | undefined>();
  const look = async () => {
    try {
      const under = await cleanUps.elsewhere();
      const ids = new Set(under.map(({ id }) => id));
      for (const [id, givenUp] of known) {
        if (ids.has(id)) continue;
        givenUp?.end();
        known.delete(id);
      }
      for (const one of under) {
        if (known.has(one.id)) continue;
        const givenUp = await giveUp(surroundings, one);
        known.set(one.id, givenUp);
        await cleanUps.answer(one.id, givenUp?.kept ?? []).catch((error) => {
          // To be asked again.
          known.delete(one.id);
          givenUp?.end();
          throw error;
        });
      }
    } catch (err) {
      log.warn({ err }, "clean-ups of other servers could not be looked for or answered");
    }
  };
  await look();
  let looking: Promise<void> | undefined;
  const timer = setInterval(() => {
    looking ??= look().finally(() => {
      looking = undefined;
    });
  }, INTERVAL);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await looking;
    for (const givenUp of known.values()) givenUp?.end();
  };
}

/** Nothing of a table that is gone. */
async function giveUp(
  { catalog, engine, storageOptions }: Surroundings,
  { table, versions }: CleanUpElsewhere,
): Promise<GivenUp | undefined> {
  const record = await catalog.tableByKey(table);
  if (!record) return undefined;
  const options = { ...storageOptions, ...record.storageOptions };
  return engine.table(record.location, options).giveUp(versions);
}
