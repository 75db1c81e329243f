import type { Catalog } from "../catalog/catalog.js";
import type { VersionCleanUps } from "../cluster/version-clean-ups.js";
import type { Engine, GivenUp } from "../engine/index.js";
import { startPolling } from "../foundation/poll-loop.js";
import type { Logger } from "../telemetry/logger.js";

/** How often clean-ups of other servers are looked for, ms. */
const INTERVAL = 250;

export interface CleanUpDependencies {
  readonly versionCleanUps: Pick<VersionCleanUps, "elsewhere" | "wanted" | "answer">;
  readonly catalog: Pick<Catalog, "tableByKey">;
  readonly engine: Pick<Engine, "table">;
  /** What reaching the root needs; a table's own options come on top. */
  readonly storageOptions: Record<string, string>;
  readonly log: Logger;
}

/**
 * Tells other servers that clean up which versions this one needs, and lets nobody have the others meanwhile.
 * Resolves when those that had begun before this server was there are answered; gives back how to stop, when
 * nothing here uses versions any more.
 */
export async function watchVersionCleanUps(
  surroundings: CleanUpDependencies,
): Promise<() => Promise<void>> {
  const watch = new Watch(surroundings);
  await watch.look();
  watch.start();
  return () => watch.stop();
}

type Closable = Pick<CleanUpDependencies, "catalog" | "versionCleanUps"> & {
  close(): Promise<void>;
};

/** An open catalog, with the clean-ups of other servers answered until it is closed. */
export async function answeringVersionCleanUps<T extends Closable>(
  opened: T,
  own: Pick<CleanUpDependencies, "engine" | "storageOptions" | "log">,
): Promise<T> {
  const { catalog, versionCleanUps } = opened;
  try {
    const stop = await watchVersionCleanUps({ ...own, catalog, versionCleanUps });
    const close = () => stop().finally(() => opened.close());
    return { ...opened, close };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** A clean-up of another server. */
interface Known {
  /** What of it was given up here, once that is decided; it stays so until the clean-up has ended. */
  givenUp: Promise<GivenUp | undefined> | undefined;
  answering: Promise<void> | undefined;
  answered: boolean;
}

class Watch {
  readonly #known = new Map<string, Known>();
  #stopLooking: (() => Promise<void>) | undefined;

  constructor(private readonly surroundings: CleanUpDependencies) {}

  start(): void {
    this.#stopLooking = startPolling(
      INTERVAL,
      () => this.look(),
      (err) =>
        this.surroundings.log.warn({ err }, "clean-ups of other servers could not be looked for"),
    );
  }

  async stop(): Promise<void> {
    await this.#stopLooking?.();
    await Promise.all([...this.#known.keys()].map((id) => this.#end(id)));
  }

  /** Ends what is over and answers what is new, or was not answered yet. */
  async look(): Promise<void> {
    const isFirst = this.#stopLooking === undefined;
    const going = new Set(await this.surroundings.versionCleanUps.elsewhere());
    for (const id of this.#known.keys()) if (!going.has(id)) void this.#end(id);
    const answers = [...going].map((id) => this.#answer(id));
    // Later on, a table that takes long to look at keeps no other one waiting.
    if (isFirst) await Promise.all(answers);
  }

  async #end(id: string): Promise<void> {
    const known = this.#known.get(id);
    this.#known.delete(id);
    await known?.answering;
    (await known?.givenUp?.catch(() => undefined))?.end();
  }

  #answer(id: string): Promise<void> {
    let known = this.#known.get(id);
    if (!known) {
      known = { givenUp: undefined, answering: undefined, answered: false };
      this.#known.set(id, known);
    }
    const one = known;
    if (!one.answered) {
      one.answering ??= this.#tryAnswer(id, one).finally(() => {
        one.answering = undefined;
      });
    }
    return one.answering ?? Promise.resolve();
  }

  /** Does not fail: what could not be told is told at the next look. */
  async #tryAnswer(id: string, known: Known): Promise<void> {
    try {
      // Decided once: of an answer that seemed to fail the other server may know.
      known.givenUp ??= this.#giveUp(id);
      const givenUp = await known.givenUp.catch((error) => {
        known.givenUp = undefined;
        throw error;
      });
      await this.surroundings.versionCleanUps.answer(id, givenUp?.kept ?? []);
      known.answered = true;
    } catch (err) {
      this.surroundings.log.warn({ err }, "another server's clean-up could not be answered");
    }
  }

  /** Nothing of a table that is gone. */
  async #giveUp(id: string): Promise<GivenUp | undefined> {
    const { versionCleanUps, catalog, engine, storageOptions } = this.surroundings;
    const wanted = await versionCleanUps.wanted(id);
    const record = wanted && (await catalog.tableByKey(wanted.table));
    if (!record) return undefined;
    const options = { ...storageOptions, ...record.storageOptions };
    return engine.table(record.location, options).giveUp(wanted.versions);
  }
}
