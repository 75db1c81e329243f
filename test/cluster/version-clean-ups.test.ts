import { describe, expect, it, vi } from "vitest";
import type { OpenCatalog } from "../../src/server/open-catalog.js";
import { describeOnEachDatabase } from "../catalog/catalog-databases.js";
import { waitFor } from "../harness/wait-for.js";

const never = new AbortController().signal;

/** Acknowledges the clean-up of another server: these versions are needed. */
async function answer({ versionCleanUps }: OpenCatalog, kept: number[]): Promise<void> {
  await waitFor("it is asked", async () => {
    const [asked] = await versionCleanUps.proposedByOthers();
    if (asked) await versionCleanUps.answer(asked, kept);
    return asked !== undefined;
  });
}

describe("a version clean-up with several servers", () => {
  describeOnEachDatabase((newCatalog) => {
    it("starts after all servers have named the versions they need and is visible until it ends", async () => {
      const open = newCatalog();
      const [first, second, third] = [await open.open(), await open.open(), await open.open()];
      const steps: string[] = [];
      const removed = first.versionCleanUps.removeAgreed(
        { table: "t", versions: [1, 2, 3, 4] },
        never,
        async (kept) => {
          steps.push(`keeps ${kept.sort()}`);
          expect(await first.versionCleanUps.proposedByOthers()).toEqual([]);
          const [id = ""] = await second.versionCleanUps.proposedByOthers();
          expect(await second.versionCleanUps.proposal(id)).toEqual({
            table: "t",
            versions: [1, 2, 3, 4],
          });
          return "removed";
        },
      );
      await answer(second, [2]);
      steps.push("one has answered");
      await new Promise((resolve) => setTimeout(resolve, 200));
      await answer(third, [2, 4]);
      expect(await removed).toBe("removed");
      expect(steps).toEqual(["one has answered", "keeps 2,2,4"]);
      expect(await second.versionCleanUps.proposedByOthers()).toEqual([]);
    });

    it("needs no acknowledgement if there is no other server or nothing to remove", async () => {
      const open = newCatalog();
      const only = await open.open();
      await open.open("tool");
      const agreed = (versions: number[]) =>
        only.versionCleanUps.removeAgreed({ table: "t", versions }, never, async (kept) => kept);
      expect(await agreed([1])).toEqual([]);
      await open.open();
      expect(await agreed([])).toEqual([]);
    });

    it("does not wait for ended servers and ends when its server ends", async () => {
      const open = newCatalog();
      const [first, second, third] = [await open.open(), await open.open(), await open.open()];
      const removed = first.versionCleanUps.removeAgreed(
        { table: "t", versions: [1] },
        never,
        async (kept) => kept,
      );
      await answer(second, [1]);
      await third.close();
      expect(await removed).toEqual([1]);

      let begun = () => {};
      const under = new Promise<void>((resolve) => {
        begun = resolve;
      });
      const unended = second.versionCleanUps.removeAgreed(
        { table: "t", versions: [1] },
        never,
        () => {
          begun();
          return new Promise<void>(() => {});
        },
      );
      unended.catch(() => {});
      await answer(first, []);
      await under;
      expect(await first.versionCleanUps.proposedByOthers()).toHaveLength(1);
      await second.close();
      expect(await first.versionCleanUps.proposedByOthers()).toEqual([]);
    });

    it("removes nothing if it is aborted or if a server does not answer", async () => {
      const open = newCatalog();
      const [first, second] = [await open.open(), await open.open()];
      const remove = vi.fn(async () => {});
      const stop = new AbortController();
      const stopped = first.versionCleanUps.removeAgreed(
        { table: "t", versions: [1] },
        stop.signal,
        remove,
      );
      await waitFor(
        "it is asked",
        async () => (await second.versionCleanUps.proposedByOthers()).length > 0,
      );
      stop.abort();
      await expect(stopped).rejects.toThrow(/abort/);
      expect(await second.versionCleanUps.proposedByOthers()).toEqual([]);
      const unanswered = first.versionCleanUps.removeAgreed(
        { table: "t", versions: [1] },
        never,
        remove,
      );
      await expect(unanswered).rejects.toMatchObject({ code: 17 });
      expect(await second.versionCleanUps.proposedByOthers()).toEqual([]);
      expect(remove).not.toHaveBeenCalled();
    }, 30_000);
  });
});
