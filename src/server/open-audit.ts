import type { Config } from "../config/config.js";
import { AuditFile } from "../telemetry/audit/audit-file.js";
import { AuditBuffer, type AuditLines, type AuditLog } from "../telemetry/audit/audit-log.js";
import { AuditTable } from "../telemetry/audit/audit-table.js";
import type { Logger } from "../telemetry/logger.js";
import type { ThreadRpc } from "../threads/thread-rpc.js";
import { type AuditTargetDependencies, auditTarget } from "./audit-target.js";

/** The audit log in the main thread. */
export interface OpenAudit {
  readonly log: AuditLog;
  /** Takes the lines of all threads. */
  readonly lines: AuditLines;
  /** Copies the lines into the table of `--audit-log-table` from now on. */
  openTable(dependencies: Pick<AuditTargetDependencies, "engine" | "catalog">): void;
  reopen(): Promise<void>;
  /** Writes the lines that wait. Other threads have flushed theirs. */
  close(): Promise<void>;
}

/** Opens the file of `--audit-log`. @throws Error with one sentence if it cannot be opened */
export async function openAudit(config: Config, log: Logger): Promise<OpenAudit | undefined> {
  if (!config.auditLog) return undefined;
  const file = await AuditFile.open(config.auditLog, log);
  let table: AuditTable | undefined;
  const lines: AuditLines = {
    append(text, count) {
      file.append(text, count);
      table?.append(text, count);
    },
  };
  const buffer = new AuditBuffer(lines);
  return {
    log: {
      write: (entry) => buffer.write(entry),
      counters: () => ({ ...file.counters(), ...(table && { table: table.counters() }) }),
    },
    lines,
    openTable(dependencies) {
      if (!config.auditLog?.table) return;
      table = new AuditTable(auditTarget({ ...dependencies, config }), log);
    },
    reopen: () => file.reopen(),
    async close() {
      buffer.flush();
      await Promise.all([file.close(), table?.close()]);
    },
  };
}

/** The lines of a worker thread are written by the main thread: a file has one writer. */
export const remoteAuditLines = (mainThread: ThreadRpc): AuditLines => ({
  append: (text, lines) => mainThread.notify("auditLines", "append", [text, lines]),
});

/** The audit log in a worker thread. Only operations of the main thread read counters. */
export const workerAuditLog = (buffer: AuditBuffer): AuditLog => ({
  write: (entry) => buffer.write(entry),
  counters: () => ({ lines: 0, lost: 0, writeErrors: 0 }),
});
