import type { RaySettings } from "../../config/ray.js";
import { operatorMessage } from "../../foundation/errors.js";
import type { RemoteJob } from "../executor.js";
import { WorkerCredentials, type WorkerCredentialsDependencies } from "./worker-credentials.js";

/** How long STS may give no credentials until the job fails, ms. */
const PATIENCE = 30_000;

export interface WorkerStoresDependencies extends Omit<WorkerCredentialsDependencies, "vending"> {
  readonly settings: Pick<RaySettings, "storageOptions" | "vending">;
}

/** The options of stores in an order: see `RemoteOrderReply`. */
export interface StoreOptions {
  readonly storage_options: Readonly<Record<string, string>>;
  readonly source_options?: readonly Readonly<Record<string, string>>[];
}

/** With which options of the object store the workers of a job read its tables and write their files. */
export class WorkerStores {
  readonly #credentials: WorkerCredentials | undefined;
  /** Since when STS has given no credentials. */
  #refusedSince: number | undefined;

  constructor(
    private readonly dependencies: WorkerStoresDependencies,
    private readonly job: RemoteJob,
  ) {
    const { vending } = dependencies.settings;
    this.#credentials = vending && new WorkerCredentials({ ...dependencies, vending }, job);
  }

  /** Whether workers need new options from time to time. */
  get areTemporary(): boolean {
    return this.#credentials !== undefined;
  }

  /** @param location of the table or the branch to which the workers write */
  async options(location: string): Promise<StoreOptions> {
    const { storageOptions } = this.dependencies.settings;
    const { sources } = this.job;
    const own = await this.#complete(storageOptions ?? this.job.storageOptions, location);
    if (!sources) return { storage_options: own };
    const complete = sources.map((source) =>
      this.#complete(storageOptions ?? source.storageOptions, location),
    );
    return { storage_options: own, source_options: await Promise.all(complete) };
  }

  async #complete(
    options: Readonly<Record<string, string>>,
    location: string,
  ): Promise<Readonly<Record<string, string>>> {
    if (!this.#credentials) return options;
    try {
      const complete = await this.#credentials.addTo(options, location);
      this.#refusedSince = undefined;
      return complete;
    } catch (error) {
      // Workers ask again and again. A role that this server may not assume needs the operator.
      this.#refusedSince ??= performance.now();
      if (performance.now() - this.#refusedSince > PATIENCE) {
        const reason = operatorMessage(error);
        this.job.work.fail(
          `the workers on Ray need temporary credentials (--ray-vend-role): ${reason}`,
          false,
        );
      }
      throw error;
    }
  }
}
