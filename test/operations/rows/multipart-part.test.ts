import { expect, it } from "vitest";
import type { Services } from "../../../src/api/services.js";
import type { Upload } from "../../../src/engine/index.js";
import { ErrorCode, JoustError } from "../../../src/foundation/errors.js";
import { writePart } from "../../../src/operations/rows/write-part.js";

/** How often the server removes the files of a part that failed with this error. */
async function removals(error: Error): Promise<number> {
  let removed = 0;
  const table = {
    writePart: async () => ({ contents: Buffer.from("part"), numRows: 1 }),
    removeParts: async () => void removed++,
  };
  const record = { key: "k", location: "/t", properties: {}, storageOptions: {}, declared: false };
  const services = {
    engine: { table: () => table, closeTable: () => {} },
    config: { storageOptions: {} },
    catalog: { tableSync: () => record },
    multipart: {
      open: async () => ({ id: "u", table: "k", branch: undefined, version: 1 }),
      recordPart: () => Promise.reject(error),
    },
    maintenance: { tableChanged() {} },
  } as unknown as Services;
  const wanted = { upload: "u", part: undefined, branch: undefined, overwrite: false };
  await expect(writePart(services, ["t"], {} as Upload, wanted)).rejects.toBe(error);
  return removed;
}

it("the files of a part are removed if the part is rejected, and kept if the catalog may have stored it", async () => {
  expect(await removals(new JoustError(ErrorCode.InvalidInput, "the upload has ended"))).toBe(1);
  expect(await removals(new JoustError(ErrorCode.ServiceUnavailable, "no database"))).toBe(0);
  expect(await removals(new Error("connection lost"))).toBe(0);
});
