import { resolve } from "node:path";
import type { AuditFileOptions } from "../telemetry/audit/audit-file.js";
import { ConfigError } from "./option.js";
import type { OptionValues } from "./options.js";

/** Larger than one batch of lines, so that no file exceeds the size. */
const LEAST_SIZE = 64 * 2 ** 10;

export interface AuditLogConfig extends AuditFileOptions {
  /** The lines are also rows of a Lance table. */
  readonly table: boolean;
}

/** @throws ConfigError for a size below 64 KiB, or a table without a file */
export function auditLogOf(values: OptionValues, cwd: string): AuditLogConfig | undefined {
  const file = values["audit-log"];
  const table = values["audit-log-table"] === "on";
  if (file === undefined) {
    if (table) {
      throw new ConfigError(
        "--audit-log-table needs --audit-log: the file is the complete record, and the table a copy",
      );
    }
    return undefined;
  }
  const maxBytes = values["audit-log-size"];
  if (maxBytes < LEAST_SIZE) throw new ConfigError("--audit-log-size must be at least 64KiB");
  return { path: resolve(cwd, file), maxBytes, maxFiles: values["audit-log-files"], table };
}
