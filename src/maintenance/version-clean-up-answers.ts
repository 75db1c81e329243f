/**
 * How this server answers the version clean-ups of other members; see cluster/version-clean-ups.ts.
 *
 * 1. Every 250 ms it reads the open proposals of other members.
 * 2. For a new one it asks the engine which of the versions are in use here. The engine refuses requests for the
 *    others from then on (`RemovalPermit`).
 * 3. It writes the versions in use as its answer. A failed write is repeated with the same answer, because the
 *    other server may have read it.
 * 4. When the proposal is deleted, or its server is dead, the engine serves all versions again.
 */
import type { Catalog } from "../catalog/catalog.js";
import type { VersionCleanUps } from "../cluster/version-clean-ups.js";
import type { Engine, RemovalPermit } from "../engine/index.js";
import { startPolling } from "../foundation/poll-loop.js";
import type { Logger } from "../telemetry/logger.js";

const POLL_INTERVAL = 250;

export interface CleanUpAnswerDependencies {
  readonly versionCleanUps: Pick<VersionCleanUps, "proposedByOthers" | "proposal" | "answer">;
  readonly catalog: Pick<Catalog, "tableByKey">;
  readonly engine: Pick<Engine, "table">;
  /** Of the root; a table's options are added to them. */
  readonly storageOptions: Record<string, string>;
  readonly log: Logger;
}

/**
 * Answers the clean-ups of other members. Resolves when those that were open at the start are answered.
 *
 * @returns a function that stops the answers; to be called when this server no longer uses any version
 */
export async function answerVersionCleanUps(
  dependencies: CleanUpAnswerDependencies,
): Promise<() => Promise<void>> {
  const responder = new CleanUpResponder(dependencies);
  await responder.poll();
  responder.start();
  return () => responder.stop();
}

type Closable = Pick<CleanUpAnswerDependencies, "catalog" | "versionCleanUps"> & {
  close(): Promise<void>;
};

/** Answers the clean-ups of other members until the catalog is closed. */
export async function withVersionCleanUpAnswers<T extends Closable>(
  opened: T,
  dependencies: Pick<CleanUpAnswerDependencies, "engine" | "storageOptions" | "log">,
): Promise<T> {
  const { catalog, versionCleanUps } = opened;
  try {
    const stop = await answerVersionCleanUps({ ...dependencies, catalog, versionCleanUps });
    const close = () => stop().finally(() => opened.close());
    return { ...opened, close };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** An open clean-up of another member. */
interface OpenCleanUp {
  /** The versions that the engine allows to be removed. Decided once, and in force until the clean-up has ended. */
  permit: Promise<RemovalPermit | undefined> | undefined;
  answering: Promise<void> | undefined;
  isAnswered: boolean;
}

class CleanUpResponder {
  readonly #open = new Map<string, OpenCleanUp>();
  #stopPolling: (() => Promise<void>) | undefined;

  constructor(private readonly dependencies: CleanUpAnswerDependencies) {}

  start(): void {
    this.#stopPolling = startPolling(
      POLL_INTERVAL,
      () => this.poll(),
      (err) =>
        this.dependencies.log.warn({ err }, "the clean-ups of other servers could not be read"),
    );
  }

  async stop(): Promise<void> {
    await this.#stopPolling?.();
    await Promise.all([...this.#open.keys()].map((id) => this.#end(id)));
  }

  /** Ends the clean-ups that are no longer proposed. Answers those without an answer. */
  async poll(): Promise<void> {
    const isFirst = this.#stopPolling === undefined;
    const proposed = new Set(await this.dependencies.versionCleanUps.proposedByOthers());
    for (const id of this.#open.keys()) if (!proposed.has(id)) void this.#end(id);
    const answers = [...proposed].map((id) => this.#answer(id));
    // Later polls do not wait: a table that takes long must not delay the answers for others.
    if (isFirst) await Promise.all(answers);
  }

  async #end(id: string): Promise<void> {
    const cleanUp = this.#open.get(id);
    this.#open.delete(id);
    await cleanUp?.answering;
    (await cleanUp?.permit?.catch(() => undefined))?.end();
  }

  #answer(id: string): Promise<void> {
    const cleanUp = this.#open.get(id) ?? this.#add(id);
    if (!cleanUp.isAnswered) {
      cleanUp.answering ??= this.#tryAnswer(id, cleanUp).finally(() => {
        cleanUp.answering = undefined;
      });
    }
    return cleanUp.answering ?? Promise.resolve();
  }

  #add(id: string): OpenCleanUp {
    const cleanUp = { permit: undefined, answering: undefined, isAnswered: false };
    this.#open.set(id, cleanUp);
    return cleanUp;
  }

  /** Does not reject: the next poll repeats a failed answer. */
  async #tryAnswer(id: string, cleanUp: OpenCleanUp): Promise<void> {
    try {
      // Decided once: the other server may have read an answer whose write seemed to fail.
      cleanUp.permit ??= this.#permitRemoval(id);
      const permit = await cleanUp.permit.catch((error) => {
        cleanUp.permit = undefined;
        throw error;
      });
      await this.dependencies.versionCleanUps.answer(id, permit?.inUse ?? []);
      cleanUp.isAnswered = true;
    } catch (err) {
      this.dependencies.log.warn({ err }, "a clean-up of another server could not be answered");
    }
  }

  /** Returns undefined when the clean-up has ended or the table is dropped. */
  async #permitRemoval(id: string): Promise<RemovalPermit | undefined> {
    const { versionCleanUps, catalog, engine, storageOptions } = this.dependencies;
    const proposal = await versionCleanUps.proposal(id);
    const record = proposal && (await catalog.tableByKey(proposal.table));
    if (!record) return undefined;
    const options = { ...storageOptions, ...record.storageOptions };
    return engine.table(record.location, options).permitRemoval(proposal.versions);
  }
}
