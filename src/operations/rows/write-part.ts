import { randomUUID } from "node:crypto";
import type { Services } from "../../api/services.js";
import type { ArrowBody } from "../../engine/index.js";
import { asJoustError, ErrorCode } from "../../foundation/errors.js";
import { removeOrphanedParts } from "../../multipart/orphaned-part-removal.js";
import { changingTable } from "../../tables/table-writes.js";
import { branchName, onBranch } from "../../tables/target.js";

/** The part that a request writes. */
interface PartTarget {
  readonly upload: string;
  /** The name of the part; undefined: a new part. */
  readonly part: string | undefined;
  readonly branch: string | undefined;
  readonly overwrite: boolean;
}

/** Writes one part of an upload. It becomes visible when the upload is completed. Returns the number of rows. */
export function writePart(
  services: Pick<Services, "catalog" | "config" | "engine" | "log" | "maintenance" | "multipart">,
  id: readonly string[],
  payload: ArrowBody,
  target: PartTarget,
): Promise<number> {
  const { multipart } = services;
  const { upload: uploadId, overwrite } = target;
  const branch = branchName(target.branch);
  return changingTable(services, id, payload, async ({ record, table }) => {
    const upload = await multipart.open({ id: uploadId, table: record.key, branch });
    const tableOnBranch = onBranch(table, branch);
    const part = await tableOnBranch.writePart(payload, overwrite, upload.version);
    const { contents } = part;
    const name = target.part ?? randomUUID();
    const replaced = await multipart
      .recordPart(upload.id, { name, contents, overwrite })
      .catch(async (error) => {
        // The upload has ended or refuses the part, so its files are removed. After an ambiguous failure the part may
        // be stored: the end of the upload or the version clean-up then removes the files.
        if (!ambiguousCodes.has(asJoustError(error).code)) {
          await tableOnBranch.removeParts([contents]);
        }
        throw error;
      });
    if (replaced) await removeOrphanedParts(services, replaced);
    return part.numRows;
  });
}

/** After a failure with one of these codes the catalog may have stored the part. */
const ambiguousCodes: ReadonlySet<ErrorCode> = new Set([
  ErrorCode.ServiceUnavailable,
  ErrorCode.Internal,
]);
