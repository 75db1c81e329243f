import { randomUUID } from "node:crypto";
import type { Upload } from "../engine/index.js";
import type { Services } from "../services.js";
import { removeRemains } from "../uploads/clean-up.js";
import { writing } from "./table-writes.js";
import { branchName, onBranch } from "./target.js";

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
  services: Services,
  id: readonly string[],
  payload: Upload,
  wanted: Wanted,
): Promise<number> {
  const { uploads } = services;
  const branch = branchName(wanted.branch);
  return writing(services, id, payload, async ({ record, table }) => {
    const upload = await uploads.open({ id: wanted.upload, table: record.key, branch });
    const target = onBranch(table, branch);
    const part = await target.writePart(payload, wanted.overwrite, upload.version);
    const { contents } = part;
    const name = wanted.part ?? randomUUID();
    const { overwrite } = wanted;
    const replaced = await uploads.keep(upload.id, { name, contents, overwrite }).catch(
      // The upload has ended meanwhile, or the part is not one of it.
      async (error) => {
        await target.removeParts([contents]);
        throw error;
      },
    );
    if (replaced) await removeRemains(services, replaced);
    return part.numRows;
  });
}
