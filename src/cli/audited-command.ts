import { randomUUID } from "node:crypto";
import { userInfo } from "node:os";
import type { Config } from "../config/config.js";
import { asJoustError, errorReply } from "../foundation/errors.js";
import type { OpenCatalog } from "../server/open-catalog.js";
import { AuditAppender } from "../telemetry/audit/audit-file.js";
import type { AuditEntry, AuditedGrant } from "../telemetry/audit/audit-log.js";
import { withCatalog } from "./with-catalog.js";

/** The operation in the line of a command. The two of grants have the names of the same changes over HTTP. */
export type CommandOperation = "CreateKey" | "RotateKey" | "RevokeKey" | "AddGrant" | "DeleteGrant";

/** Sets what the line of the command says about its grant or its key. */
type Describe = (grant: AuditedGrant) => void;

/**
 * Runs a command that changes keys or grants. With `--audit-log` it appends one line to that file, also if the command
 * fails, and changes nothing if the file cannot be opened.
 */
export async function withAuditedCatalog(
  args: readonly string[],
  operation: CommandOperation,
  work: (catalog: OpenCatalog, describe: Describe, config: Config) => Promise<void>,
): Promise<void> {
  await withCatalog(args, async (catalog, config) => {
    if (!config.auditLog) return work(catalog, () => {}, config);
    const log = await AuditAppender.open(config.auditLog.path);
    try {
      await audited(log, operation, (describe) => work(catalog, describe, config));
    } finally {
      await log.close();
    }
  });
}

async function audited(
  log: AuditAppender,
  operation: CommandOperation,
  work: (describe: Describe) => Promise<void>,
): Promise<void> {
  const started = performance.now();
  const name = systemUser();
  let grant: AuditedGrant | undefined;
  const entry = (outcome: Pick<AuditEntry, "status" | "error">): AuditEntry => ({
    time: new Date().toISOString(),
    request_id: randomUUID(),
    remote: "",
    identity: { id: `cli:${name}`, name },
    operation,
    grant,
    ...outcome,
    ms: Math.round((performance.now() - started) * 10) / 10,
  });
  try {
    await work((described) => {
      grant = described;
    });
  } catch (error) {
    const { status, code } = asJoustError(error);
    await log.append(entry({ status: status ?? errorReply(code).status, error: code }));
    throw error;
  }
  await log.append(entry({ status: 200 }));
}

/** The name of the user of the operating system; its number if it has no name. */
function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "unknown");
  }
}

/**
 * The subject of a grant for the line. A text that names no key of the catalog may be a secret in the wrong place: it is
 * absent.
 */
export async function auditedSubject(
  { grants }: Pick<OpenCatalog, "grants">,
  subject: string,
): Promise<Pick<AuditedGrant, "subject" | "subject_name">> {
  if (/^(user|group):/.test(subject)) return { subject };
  if (!subject.startsWith("key:")) return {};
  const [key] = await grants.findKeys({ ids: [subject.slice("key:".length)] });
  return key ? { subject, subject_name: key.name } : {};
}
