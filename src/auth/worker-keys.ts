import type { KeyRecord } from "../catalog/key-records.js";
import type { KeyStore } from "../catalog/keys.js";
import { invalidInput } from "../foundation/errors.js";
import type { WorkerKeys } from "../jobs/ray/worker-calls.js";
import type { JobStore } from "../jobs/store.js";
import { hashKey, looksLikeKey, newKey } from "./key.js";

/** As long as the files of a backfill stay that was not committed, ms. */
const LIFETIME = 7 * 24 * 3_600_000;

const PREFIX = "workers of job ";

const nameOf = (job: string): string => PREFIX + job;

/** Whether no key of a user may have this name. */
export const isReservedName = (name: string): boolean => name.startsWith(PREFIX);

/** Whether a key is of workers, and not of a user. */
export const isWorkerKey = ({ role, name }: Pick<KeyRecord, "role" | "name">): boolean =>
  role === "none" && isReservedName(name);

/** Keys of the catalog with the name of a job and without a role: they authenticate its workers. */
export class StoredWorkerKeys implements WorkerKeys {
  constructor(
    private readonly keys: Pick<
      KeyStore,
      "replaceNamed" | "findByHash" | "list" | "revoke" | "rotate"
    >,
    private readonly jobs: Pick<JobStore, "lockOwned">,
  ) {}

  async issue(job: string): Promise<{ id: string; token: string } | undefined> {
    const token = newKey();
    const hash = hashKey(token);
    const key = { name: nameOf(job), role: "none", hash, lifetimeMs: LIFETIME } as const;
    const record = await this.keys.replaceNamed(key, (t) => this.jobs.lockOwned(t, job));
    return record && { id: record.id, token };
  }

  async replace(job: string, token: string, replacement: string): Promise<boolean> {
    if (!looksLikeKey(replacement)) throw invalidInput("the replacement is no API key");
    const record = await this.#find(job, token);
    if (!record) return false;
    const rotation = { hash: hashKey(replacement), overlapMs: 0, lifetimeMs: LIFETIME };
    return (await this.keys.rotate(record.id, rotation)) !== undefined;
  }

  async isOf(job: string, token: string): Promise<boolean> {
    return (await this.#find(job, token)) !== undefined;
  }

  async isReplaced(job: string): Promise<boolean> {
    const key = (await this.#of(job)).at(-1);
    return key !== undefined && key.issuedMillis > key.createdMillis;
  }

  async idOf(job: string): Promise<string | undefined> {
    return (await this.#of(job)).at(-1)?.id;
  }

  async revoke(id: string): Promise<void> {
    await this.keys.revoke(id);
  }

  /** Removes the keys of the jobs that are not active: they ended while no server ran. */
  async revokeInactive(isActive: (job: string) => Promise<boolean>): Promise<void> {
    for (const key of await this.keys.list()) {
      if (isWorkerKey(key) && !(await isActive(key.name.slice(PREFIX.length)))) {
        await this.keys.revoke(key.id);
      }
    }
  }

  async #find(job: string, token: string): Promise<KeyRecord | undefined> {
    const record = await this.keys.findByHash(hashKey(token).toString("hex"));
    const isValid = record && (record.expiresMillis ?? Number.POSITIVE_INFINITY) > Date.now();
    return isValid && isWorkerKey(record) && record.name === nameOf(job) ? record : undefined;
  }

  async #of(job: string): Promise<KeyRecord[]> {
    const keys = await this.keys.list();
    return keys.filter((key) => isWorkerKey(key) && key.name === nameOf(job));
  }
}
