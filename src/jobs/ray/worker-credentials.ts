import { randomUUID } from "node:crypto";
import type { Catalog } from "../../catalog/catalog.js";
import type { VendingSettings } from "../../config/vending.js";
import { vendCredentials } from "../../engine/index.js";
import type { Logger } from "../../telemetry/logger.js";
import type { RemoteJob } from "../executor.js";

type StorageOptions = Readonly<Record<string, string>>;

/** Where the workers of each kind of job write, below the location of the table or of the branch. */
const WRITTEN = ["data", "_indices"];

/** Options with credentials of the store, or without any. */
const CREDENTIALS =
  /^(aws_)?(access_key_id|secret_access_key|session_token|token|skip_signature)$/i;
/** Time between two requests to STS while it gives none, ms. */
const PAUSE = 5_000;

export interface WorkerCredentialsDependencies {
  readonly vending: VendingSettings;
  readonly catalog: Pick<Catalog, "cloneSource">;
  readonly log: Logger;
}

interface Vended {
  readonly options: StorageOptions;
  /** What they may write. */
  readonly location: string;
  readonly renewAt: number;
  readonly expiresAt: number;
}

/**
 * Temporary credentials for the workers of a job. They read the table, the sources of a view, and the tables whose files
 * these read as clones. They write the files of data and indexes of the table or of one branch. They cannot write a version.
 */
export class WorkerCredentials {
  #vended: Vended | undefined;
  /** Requests to STS that run, by the location that the workers write to: many tasks may begin at the same time. */
  readonly #requests = new Map<string, Promise<Vended>>();
  #failure: { readonly error: unknown; readonly at: number } | undefined;

  constructor(
    private readonly dependencies: WorkerCredentialsDependencies,
    private readonly job: Pick<RemoteJob, "id" | "location" | "storageOptions" | "sources">,
  ) {}

  /**
   * Adds credentials to the options of a store, in place of those that they have. Half of their lifetime is left, so a
   * task that begins with them has that time.
   *
   * @param location of the table or of the branch that the workers write to
   * @throws code 13 if no policy can name the location; code 17 if STS gives none
   */
  async addTo(options: StorageOptions, location: string): Promise<StorageOptions> {
    const entries = Object.entries(options).filter(([name]) => !CREDENTIALS.test(name));
    const others = Object.fromEntries(entries);
    const vended = this.#vended?.location === location ? this.#vended : undefined;
    if (vended && Date.now() < vended.renewAt) return { ...others, ...vended.options };
    try {
      const renewed = await this.#vend(location);
      return { ...others, ...renewed.options };
    } catch (error) {
      if (!vended || Date.now() >= vended.expiresAt) throw error;
      return { ...others, ...vended.options };
    }
  }

  #vend(location: string): Promise<Vended> {
    const running = this.#requests.get(location);
    if (running) return running;
    const request = this.#request(location).finally(() => this.#requests.delete(location));
    this.#requests.set(location, request);
    return request;
  }

  async #request(location: string): Promise<Vended> {
    const failure = this.#failure;
    if (failure && Date.now() < failure.at + PAUSE) throw failure.error;
    try {
      this.#vended = await this.#ask(location);
      this.#failure = undefined;
      return this.#vended;
    } catch (err) {
      this.#failure = { error: err, at: Date.now() };
      const { log } = this.dependencies;
      log.warn({ err, job: this.job.id }, "the workers of a job got no new credentials");
      throw err;
    }
  }

  async #ask(location: string): Promise<Vended> {
    const { vending, log } = this.dependencies;
    const { role, endpoint, lifetimeMs } = vending;
    const session = `joust-${randomUUID()}`;
    const begun = Date.now();
    const vended = await vendCredentials(await this.#readable(), {
      // The identity of this server, whose role may assume the other one.
      storageOptions: { ...this.job.storageOptions },
      role,
      session,
      lifetimeMs,
      writable: WRITTEN.map((folder) => `${location.replace(/\/+$/, "")}/${folder}`),
      ...(endpoint !== undefined && { endpoint }),
    });
    log.info({ job: this.job.id, session }, "gave temporary credentials to the workers of a job");
    return {
      options: {
        aws_access_key_id: vended.accessKeyId,
        aws_secret_access_key: vended.secretAccessKey,
        aws_session_token: vended.sessionToken,
      },
      location,
      renewAt: begun + (vended.expiresAtMillis - begun) / 2,
      expiresAt: vended.expiresAtMillis,
    };
  }

  /** The table and those from which the workers read, and the tables whose files these read as clones. */
  async #readable(): Promise<string[]> {
    const { catalog } = this.dependencies;
    const { location, sources = [] } = this.job;
    const locations = new Set<string>();
    for (const table of [location, ...sources.map((source) => source.location)]) {
      let next: string | undefined = table;
      while (next !== undefined) {
        locations.add(next);
        const cloned = await catalog.cloneSource(next);
        next = cloned?.location;
      }
    }
    return [...locations];
  }
}
