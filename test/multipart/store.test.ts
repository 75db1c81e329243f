import { afterEach, describe, expect, it, vi } from "vitest";
import type { OpenCatalog } from "../../src/server/open-catalog.js";
import { describeOnEachDatabase, makeTable } from "../catalog/catalog-databases.js";

const HOUR = 3_600_000;
const part = (name: string, text = name) => ({
  name,
  contents: Buffer.from(text),
  overwrite: false,
});
const texts = (parts: readonly Buffer[]) => parts.map(String).sort();

/** Begins a multipart write on a new table. */
async function begun(open: OpenCatalog, table = "t") {
  const { key } = await makeTable(open, [table]);
  const id = await open.multipart.begin({ table: key, branch: undefined, version: 3 });
  return { id, table: key, branch: undefined };
}

afterEach(() => {
  vi.useRealTimers();
});

describe("a multipart write in the catalog", () => {
  describeOnEachDatabase((newCatalog) => {
    it("has its parts for any server that completes it", async () => {
      const catalog = newCatalog();
      const first = await catalog.open();
      const name = await begun(first);
      expect(await first.multipart.open(name)).toEqual({ ...name, version: 3 });
      await first.multipart.recordPart(name.id, part("a", "old"));
      await first.multipart.recordPart(name.id, part("b"));
      const replaced = await first.multipart.recordPart(name.id, part("a", "new"));
      expect(texts(replaced?.parts ?? [])).toEqual(["old"]);
      await first.close();

      const { multipart } = await catalog.open();
      const result = await multipart.complete(name);
      if ("version" in result) throw new Error("it was not complete");
      expect(result).toMatchObject({
        upload: { ...name, version: 3 },
        overwrite: false,
        retried: false,
      });
      expect(texts(result.parts)).toEqual(["b", "new"]);
      await multipart.committed(name.id, 9);
      expect(await multipart.complete(name)).toEqual({ version: 9 });
      // The replaced part is still to be removed, whatever the outcome of the multipart write.
      const [left, ...others] = await multipart.orphanedParts();
      expect([texts(left?.parts ?? []), others.length]).toEqual([["old"], 0]);
      await left?.removed();
      expect(await multipart.orphanedParts()).toEqual([]);
    });

    it("belongs to one table and one branch", async () => {
      const open = await newCatalog().open();
      const name = await begun(open);
      const { key: other } = await makeTable(open, ["other"]);
      for (const wrong of [
        { ...name, table: other },
        { ...name, branch: "dev" },
        { ...name, id: "x" },
      ]) {
        await expect(open.multipart.open(wrong)).rejects.toMatchObject({ code: 13 });
        await expect(open.multipart.complete(wrong)).rejects.toMatchObject({ code: 13 });
        expect(await open.multipart.abandon(wrong, "open")).toBeUndefined();
      }
      expect(await open.multipart.open(name)).toMatchObject({ version: 3 });
    });

    it("appends or replaces rows from its first part on, and until it is aborted", async () => {
      const { multipart, ...open } = await newCatalog().open();
      const [appends, replaces] = [
        await begun({ multipart, ...open }, "a"),
        await begun({ multipart, ...open }, "b"),
      ];
      await expect(multipart.replacesRows(appends)).rejects.toThrow(/has no parts/);
      await multipart.recordPart(appends.id, part("a"));
      await multipart.recordPart(replaces.id, { ...part("a"), overwrite: true });
      const modes = () =>
        Promise.all([appends, replaces].map((one) => multipart.replacesRows(one)));
      expect(await modes()).toEqual([false, true]);
      await multipart.complete(replaces);
      expect(await modes()).toEqual([false, true]);
      await multipart.committed(replaces.id, 4);
      expect(await modes()).toEqual([false, true]);
      await expect(multipart.replacesRows({ ...replaces, table: "x" })).rejects.toMatchObject({
        code: 13,
      });
      await multipart.abandon(appends, "open");
      await expect(multipart.replacesRows(appends)).rejects.toThrow(/no upload/);
    });

    it("ends with its branch, and multipart writes of other branches continue", async () => {
      const open = await newCatalog().open();
      const { multipart } = open;
      const { key: table } = await makeTable(open, ["t"]);
      const begin = async (branch: string | undefined) => {
        const id = await multipart.begin({ table, branch, version: 3 });
        await multipart.recordPart(id, part("a"));
        return { id, table, branch };
      };
      const [main, dev, other] = [await begin(undefined), await begin("dev"), await begin("dev/x")];
      await multipart.endBranch(table, "dev", Date.now() + 1);
      await expect(multipart.open(dev)).rejects.toMatchObject({ code: 13 });
      await expect(multipart.complete(dev)).rejects.toMatchObject({ code: 13 });
      for (const one of [main, other]) expect(await multipart.open(one)).toMatchObject(one);
      expect(await multipart.orphanedParts()).toEqual([]);
    });

    it("accepts no part once it is being committed, and marks a second completion as a retry", async () => {
      const catalog = newCatalog();
      const first = await catalog.open();
      const name = await begun(first);
      await first.multipart.recordPart(name.id, part("a"));
      await first.multipart.complete(name);
      await expect(first.multipart.recordPart(name.id, part("b"))).rejects.toMatchObject({
        code: 13,
      });
      await expect(first.multipart.open(name)).rejects.toMatchObject({ code: 13 });
      expect(await first.multipart.abandon(name, "open")).toBeUndefined();
      expect(await first.multipart.complete(name)).toMatchObject({ retried: true });
      // The server ends without a result: the next one must determine the outcome.
      await first.close();
      const second = await catalog.open();
      const result = await second.multipart.complete(name);
      expect(result).toMatchObject({ retried: true, parts: [Buffer.from("a")] });
    });

    it("that is aborted lists its files until they are removed", async () => {
      const { multipart, ...open } = await newCatalog().open();
      const name = await begun({ multipart, ...open });
      for (const text of ["a", "b"]) await multipart.recordPart(name.id, part(text));
      const remains = await multipart.abandon(name, "open");
      expect([texts(remains?.parts ?? []), remains?.maybeCommitted]).toEqual([["a", "b"], false]);
      expect(await multipart.abandon(name, "open")).toBeUndefined();
      await expect(multipart.complete(name)).rejects.toMatchObject({ code: 13 });
      expect((await multipart.orphanedParts()).map(({ upload }) => upload.id)).toEqual([name.id]);
      await remains?.removed();
      expect(await multipart.orphanedParts()).toEqual([]);
    });

    it("ends after a day without activity and not before", async () => {
      const { multipart, ...open } = await newCatalog().open();
      const idle = await begun({ multipart, ...open }, "idle");
      const stuck = await begun({ multipart, ...open }, "stuck");
      const busy = await begun({ multipart, ...open }, "busy");
      const done = await begun({ multipart, ...open }, "done");
      for (const { id } of [idle, stuck, busy, done]) await multipart.recordPart(id, part("a"));
      await multipart.complete(stuck);
      await multipart.complete(done);
      await multipart.committed(done.id, 4);
      const now = Date.now();
      vi.useFakeTimers({ toFake: ["Date"], now: now + 23 * HOUR });
      expect(await multipart.orphanedParts()).toEqual([]);
      await multipart.recordPart(busy.id, part("b"));
      vi.setSystemTime(now + 25 * HOUR);
      const left = await multipart.orphanedParts();
      const reported = left.map(({ upload, maybeCommitted }) => [upload.id, maybeCommitted]);
      expect(reported.sort()).toEqual(
        [
          [idle.id, false],
          [stuck.id, true],
        ].sort(),
      );
      for (const one of left) await one.removed();
      expect(await multipart.open(busy)).toMatchObject({ id: busy.id });
      for (const name of [idle, stuck, done]) {
        await expect(multipart.complete(name)).rejects.toMatchObject({ code: 13 });
      }
    });

    it("is removed with its table", async () => {
      const { multipart, catalog } = await newCatalog().open();
      const { key } = await makeTable({ catalog }, ["t"]);
      const id = await multipart.begin({ table: key, branch: "dev", version: 1 });
      await multipart.recordPart(id, part("a"));
      await catalog.dropTable(["t"]);
      await catalog.forgetTable(key);
      await expect(multipart.complete({ id, table: key, branch: "dev" })).rejects.toMatchObject({
        code: 13,
      });
      const late = multipart.begin({ table: key, branch: undefined, version: 1 });
      await expect(late).rejects.toMatchObject({ code: 14 });
    });
  });
});
