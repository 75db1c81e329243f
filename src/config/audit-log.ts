import { resolve } from "node:path";
import type { AuditFileOptions } from "../telemetry/audit/audit-file.js";
import { ConfigError } from "./option.js";
import type { OptionValues } from "./options.js";

/** Larger than one batch of lines, so that no file exceeds the size. */
const LEAST_SIZE = 64 * 2 ** 10;

/** @throws ConfigError for a size below 64 KiB */
export function auditLogOf(values: OptionValues, cwd: string): AuditFileOptions | undefined {
  const file = values["audit-log"];
  if (file === undefined) return undefined;
  const maxBytes = values["audit-log-size"];
  if (maxBytes < LEAST_SIZE) throw new ConfigError("--audit-log-size must be at least 64KiB");
  return { path: resolve(cwd, file), maxBytes, maxFiles: values["audit-log-files"] };
}
