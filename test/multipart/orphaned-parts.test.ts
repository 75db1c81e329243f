import { pino } from "pino";
import { expect, it } from "vitest";
import type { Services } from "../../src/api/services.js";
import { ErrorCode, JoustError } from "../../src/foundation/errors.js";
import { removeOrphanedParts } from "../../src/multipart/orphaned-part-removal.js";

/** Actions on a multipart write that was being committed a day ago; `made`: its version in the table. */
async function actionsFor(made: () => Promise<number | null>, claimed = true): Promise<string[]> {
  const done: string[] = [];
  const note = (what: string) => async () => void done.push(what);
  const table = { committedParts: made, removeParts: note("files removed") };
  const services = {
    config: {},
    engine: { table: () => table, closeTable: () => {} },
    catalog: {
      tableByKey: async () => ({ key: "k", location: "/t", properties: {}, storageOptions: {} }),
    },
    multipart: { committed: note("committed") },
    log: pino({ level: "silent" }),
  } as unknown as Services;
  await removeOrphanedParts(services, {
    upload: { id: "u", table: "k", branch: undefined, version: 1 },
    parts: [Buffer.from("part")],
    maybeCommitted: true,
    claim: async () => claimed,
    removed: note("forgotten"),
  });
  return done;
}

const failing = (code: ErrorCode) => () => Promise.reject(new JoustError(code, "no"));

it("part files are removed only if it is certain that no commit has them", async () => {
  expect(await actionsFor(async () => null)).toEqual(["files removed", "forgotten"]);
  expect(await actionsFor(async () => null, false)).toEqual([]);
  expect(await actionsFor(async () => 7)).toEqual(["committed"]);
  expect(await actionsFor(failing(ErrorCode.ServiceUnavailable))).toEqual([]);
  // The outcome cannot be determined: no version has the files, and the clean-up of unreferenced files removes them.
  expect(await actionsFor(failing(ErrorCode.ConcurrentModification))).toEqual(["forgotten"]);
  // The files were removed with the branch.
  expect(await actionsFor(failing(ErrorCode.TableBranchNotFound))).toEqual(["forgotten"]);
});
