import { randomUUID } from "node:crypto";
import type { Services } from "../../api/services.js";
import type { ArrowBody } from "../../engine/index.js";
import { asJoustError, ErrorCode } from "../../foundation/errors.js";
import { removeOrphanedParts } from "../../multipart/clean-up.js";
import { changingTable } from "../../tables/table-writes.js";
import { branchName, onBranch } from "../../tables/target.js";

/** Where the rows of a request belong. */
interface Wanted {
  readonly upload: string;
  /** Undefined: a part of its own. */
  readonly part: string | undefined;
  readonly branch: string | undefined;
  readonly overwrite: boolean;
}

/** Writes one part of an upload, which nobody sees until the upload is complete; its rows. */
export function writePart(
  services: Pick<Services, "catalog" | "config" | "engine" | "log" | "maintenance" | "multipart">,
  id: readonly string[],
  payload: ArrowBody,
  wanted: Wanted,
): Promise<number> {
  const { multipart } = services;
  const branch = branchName(wanted.branch);
  return changingTable(services, id, payload, async ({ record, table }) => {
    const upload = await multipart.open({ id: wanted.upload, table: record.key, branch });
    const target = onBranch(table, branch);
    const part = await target.writePart(payload, wanted.overwrite, upload.version);
    const { contents } = part;
    const name = wanted.part ?? randomUUID();
    const { overwrite } = wanted;
    const replaced = await multipart
      .recordPart(upload.id, { name, contents, overwrite })
      .catch(async (error) => {
        // The upload has ended meanwhile, or the part is not one of it. After any other failure the
        // part may be kept all the same: its files are left to the upload's end, or the table's clean-up.
        if (!inDoubt.has(asJoustError(error).code)) await target.removeParts([contents]);
        throw error;
      });
    if (replaced) await removeOrphanedParts(services, replaced);
    return part.numRows;
  });
}

/** Failures that a commit may have come before: of the database, or of the way to it. */
const inDoubt: ReadonlySet<ErrorCode> = new Set([ErrorCode.ServiceUnavailable, ErrorCode.Internal]);
