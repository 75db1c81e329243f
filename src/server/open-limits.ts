import type { Services } from "../api/services.js";
import type { Config } from "../config/config.js";
import { ErrorCode, hasCode } from "../foundation/errors.js";
import { FileWatch } from "../foundation/file-watch.js";
import { ActiveJobs } from "../limits/active-jobs.js";
import { LimitMemory } from "../limits/limit-memory.js";
import type { LimitOwner } from "../limits/limit-owner.js";
import { type LimitRules, rulesWithoutFile } from "../limits/limit-rules.js";
import { Limiter } from "../limits/limiter.js";
import { StorageUsage } from "../limits/storage-usage.js";
import type { Logger } from "../telemetry/logger.js";

/** The limits of a server, as the main thread opens them. */
export interface ServerLimits {
  /** Absent without `--limits`: then only requests without a key have a budget. */
  readonly source?: { readonly file: string; readonly watch: FileWatch };
  readonly rules: LimitRules;
  readonly memory: LimitMemory;
}

/** Reads the limits file if there is one. @throws ConfigError */
export async function openLimits({ limitsFile: file }: Config): Promise<ServerLimits> {
  const memory = new LimitMemory();
  if (file === undefined) return { rules: rulesWithoutFile, memory };
  const watch = new FileWatch([file]);
  return { source: { file, watch }, rules: await readLimits(file), memory };
}

/** A server without a limits file does not load the YAML parser: it has 73 modules. */
async function readLimits(file: string): Promise<LimitRules> {
  const { readLimitFile } = await import("../limits/limit-file.js");
  return readLimitFile(file);
}

/** The limits that need the catalog: the main thread decides them for all threads. */
export function limitOwner(services: Services): LimitOwner {
  const usage = new StorageUsage(services);
  const jobs = new ActiveJobs(async (id) => {
    try {
      const { state } = await services.jobs.describe(id);
      return state === "QUEUED" || state === "RUNNING";
    } catch (error) {
      if (hasCode(error, ErrorCode.TransactionNotFound)) return false;
      throw error;
    }
  });
  return {
    storageOf: (limits) => Promise.all(limits.map((limit) => usage.of(limit))),
    tableChanged: (id) => usage.tableChanged(id),
    reserveJob: (subjects) => jobs.reserve(subjects),
    endReservation: (ticket, job) => jobs.end(ticket, job),
  };
}

export const mainThreadLimiter = ({ rules, memory }: ServerLimits, owner: LimitOwner): Limiter =>
  new Limiter(rules, memory, owner);

/** A server, in this thread or another one. */
interface LimitedServer {
  setLimits(rules: LimitRules): Promise<void> | void;
}

/**
 * Reads the limits file again, if there is one. Keeps the former limits and logs the reason if the file is invalid.
 */
export async function reloadLimits(
  { source }: ServerLimits,
  servers: readonly LimitedServer[],
  log: Logger,
): Promise<void> {
  if (!source) return;
  try {
    const rules = await readLimits(source.file);
    await Promise.all(servers.map((server) => server.setLimits(rules)));
    log.info("reloaded the limits");
  } catch (err) {
    log.error({ err }, "the limits could not be reloaded; the former ones stay in use");
  }
}
