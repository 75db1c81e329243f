import { pino } from "pino";
import { expect, it } from "vitest";
import type { Services } from "../../src/api/services.js";
import { ErrorCode, JoustError } from "../../src/foundation/errors.js";
import { removeOrphanedParts } from "../../src/multipart/clean-up.js";

/** What is done to an upload that was being committed a day ago; `made`: what its table says. */
async function doneTo(made: () => Promise<number | null>, claimed = true): Promise<string[]> {
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
    doubtful: true,
    claim: async () => claimed,
    removed: note("forgotten"),
  });
  return done;
}

const failing = (code: ErrorCode) => () => Promise.reject(new JoustError(code, "no"));

it("part files are removed only if it is certain that no commit has them", async () => {
  expect(await doneTo(async () => null)).toEqual(["files removed", "forgotten"]);
  expect(await doneTo(async () => null, false)).toEqual([]);
  expect(await doneTo(async () => 7)).toEqual(["committed"]);
  expect(await doneTo(failing(ErrorCode.ServiceUnavailable))).toEqual([]);
  // Nobody can tell any more: no version has them, and they go with others that none has.
  expect(await doneTo(failing(ErrorCode.ConcurrentModification))).toEqual(["forgotten"]);
  // The branch took them with it.
  expect(await doneTo(failing(ErrorCode.TableBranchNotFound))).toEqual(["forgotten"]);
});
