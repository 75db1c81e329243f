import { pino } from "pino";
import { expect, test, vi } from "vitest";
import {
  answerVersionCleanUps,
  type CleanUpAnswerDependencies,
} from "../../src/maintenance/version-clean-up-answers.js";
import { waitFor } from "../harness/wait-for.js";

/** A server that needs version 2 of each table, and other servers that run the clean-ups in `going`. */
function dependencies(going: Set<string>) {
  const answers: [string, readonly number[]][] = [];
  const ended: string[] = [];
  const answer = vi.fn(async (id: string, inUse: readonly number[]) => {
    answers.push([id, inUse]);
  });
  const permitRemoval = vi.fn(async (location: string) => ({
    inUse: [2],
    end: () => void ended.push(location),
  }));
  const versionCleanUps = {
    proposedByOthers: async () => [...going],
    proposal: async (id: string) => ({ table: `table of ${id}`, versions: [1, 2] }),
    answer,
  };
  const catalog = {
    tableByKey: async (key: string) => ({ location: key, storageOptions: {} }),
  };
  const engine = {
    table: (location: string) => ({ permitRemoval: () => permitRemoval(location) }),
  };
  const log = pino({ level: "silent" });
  const all = {
    versionCleanUps,
    catalog,
    engine,
    storageOptions: {},
    log,
  } as unknown as CleanUpAnswerDependencies;
  return { all, answers, ended, answer, permitRemoval };
}

test("pending clean-ups are acknowledged before the watch starts, and the released versions return after each clean-up", async () => {
  const going = new Set(["a"]);
  const { all, answers, ended } = dependencies(going);
  const stop = await answerVersionCleanUps(all);
  expect(answers).toEqual([["a", [2]]]);
  going.add("b");
  await waitFor("the new one is answered", async () => answers.length === 2);
  expect(answers[1]).toEqual(["b", [2]]);
  going.delete("a");
  await waitFor("the first has ended", async () => ended.length === 1);
  await stop();
  expect(ended).toEqual(["table of a", "table of b"]);
  expect(answers).toHaveLength(2);
});

test("a failed acknowledgement is sent again unchanged, and released versions are not taken back", async () => {
  const { all, answers, ended, answer, permitRemoval } = dependencies(new Set(["a"]));
  answer.mockRejectedValueOnce(new Error("the connection was reset"));
  const stop = await answerVersionCleanUps(all);
  await waitFor("it is answered", async () => answers.length === 1);
  expect(permitRemoval).toHaveBeenCalledTimes(1);
  expect(ended).toEqual([]);
  await stop();
});

test("a table that cannot be read is tried again and delays no other table", async () => {
  const going = new Set<string>();
  const { all, answers, permitRemoval } = dependencies(going);
  const stop = await answerVersionCleanUps(all);
  let resume = () => {};
  permitRemoval.mockRejectedValueOnce(new Error("the store is away"));
  permitRemoval.mockImplementationOnce(async () => {
    await new Promise<void>((resolve) => {
      resume = resolve;
    });
    return { inUse: [1], end: () => {} };
  });
  going.add("slow");
  await waitFor("it is asked again", async () => permitRemoval.mock.calls.length === 2);
  going.add("other");
  await waitFor("the other is answered", async () => answers.length === 1);
  expect(answers).toEqual([["other", [2]]]);
  resume();
  await waitFor("both are answered", async () => answers.length === 2);
  expect(answers[1]).toEqual(["slow", [1]]);
  await stop();
});

test("a catalog that cannot be read at the start is an error", async () => {
  const { all } = dependencies(new Set());
  const proposedByOthers = vi.fn().mockRejectedValue(new Error("away"));
  const broken = { ...all, versionCleanUps: { ...all.versionCleanUps, proposedByOthers } };
  await expect(answerVersionCleanUps(broken)).rejects.toThrow("away");
});
