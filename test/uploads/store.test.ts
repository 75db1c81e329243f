import { afterEach, describe, expect, it, vi } from "vitest";
import type { OpenCatalog } from "../../src/server/open-catalog.js";
import { makeTable, onEachDatabase } from "../catalog/each-database.js";

const HOUR = 3_600_000;
const part = (name: string, text = name) => ({
  name,
  contents: Buffer.from(text),
  overwrite: false,
});
const texts = (parts: readonly Buffer[]) => parts.map(String).sort();

/** An upload on a table of its own, with its name. */
async function begun(open: OpenCatalog, table = "t") {
  const { key } = await makeTable(open, [table]);
  const id = await open.uploads.begin({ table: key, branch: undefined, version: 3 });
  return { id, table: key, branch: undefined };
}

afterEach(() => {
  vi.useRealTimers();
});

describe("uploads in the catalog", () => {
  onEachDatabase((newCatalog) => {
    it("keep their parts for whichever server completes them", async () => {
      const catalog = newCatalog();
      const first = await catalog.open();
      const name = await begun(first);
      expect(await first.uploads.open(name)).toEqual({ ...name, version: 3 });
      await first.uploads.keep(name.id, part("a", "old"));
      await first.uploads.keep(name.id, part("b"));
      const replaced = await first.uploads.keep(name.id, part("a", "new"));
      expect(texts(replaced?.parts ?? [])).toEqual(["old"]);
      await first.close();

      const { uploads } = await catalog.open();
      const found = await uploads.complete(name);
      if ("version" in found) throw new Error("it was not complete");
      expect(found).toMatchObject({
        upload: { ...name, version: 3 },
        overwrite: false,
        retried: false,
      });
      expect(texts(found.parts)).toEqual(["b", "new"]);
      await uploads.committed(name.id, 9);
      expect(await uploads.complete(name)).toEqual({ version: 9 });
      // The part that was replaced is still to be cleaned up, whatever became of the upload.
      const [left, ...others] = await uploads.remains();
      expect([texts(left?.parts ?? []), others.length]).toEqual([["old"], 0]);
      await left?.removed();
      expect(await uploads.remains()).toEqual([]);
    });

    it("belong to one table and one branch", async () => {
      const open = await newCatalog().open();
      const name = await begun(open);
      const { key: other } = await makeTable(open, ["other"]);
      for (const wrong of [
        { ...name, table: other },
        { ...name, branch: "dev" },
        { ...name, id: "x" },
      ]) {
        await expect(open.uploads.open(wrong)).rejects.toMatchObject({ code: 13 });
        await expect(open.uploads.complete(wrong)).rejects.toMatchObject({ code: 13 });
        expect(await open.uploads.abandon(wrong, "open")).toBeUndefined();
      }
      expect(await open.uploads.open(name)).toMatchObject({ version: 3 });
    });

    it("end with their branch, and others do not", async () => {
      const open = await newCatalog().open();
      const { uploads } = open;
      const { key: table } = await makeTable(open, ["t"]);
      const begin = async (branch: string | undefined) => {
        const id = await uploads.begin({ table, branch, version: 3 });
        await uploads.keep(id, part("a"));
        return { id, table, branch };
      };
      const [main, dev, other] = [await begin(undefined), await begin("dev"), await begin("dev/x")];
      await uploads.endBranch(table, "dev", Date.now() + 1);
      await expect(uploads.open(dev)).rejects.toMatchObject({ code: 13 });
      await expect(uploads.complete(dev)).rejects.toMatchObject({ code: 13 });
      for (const one of [main, other]) expect(await uploads.open(one)).toMatchObject(one);
      expect(await uploads.remains()).toEqual([]);
    });

    it("take nothing once they are being committed, and tell a second try from the first", async () => {
      const catalog = newCatalog();
      const first = await catalog.open();
      const name = await begun(first);
      await first.uploads.keep(name.id, part("a"));
      await first.uploads.complete(name);
      await expect(first.uploads.keep(name.id, part("b"))).rejects.toMatchObject({ code: 13 });
      await expect(first.uploads.open(name)).rejects.toMatchObject({ code: 13 });
      expect(await first.uploads.abandon(name, "open")).toBeUndefined();
      expect(await first.uploads.complete(name)).toMatchObject({ retried: true });
      // The server goes without a word: the next one has to find out whether it was done.
      await first.close();
      const second = await catalog.open();
      const found = await second.uploads.complete(name);
      expect(found).toMatchObject({ retried: true, parts: [Buffer.from("a")] });
    });

    it("that fail leave files to remove, until they are removed", async () => {
      const { uploads, ...open } = await newCatalog().open();
      const name = await begun({ uploads, ...open });
      for (const text of ["a", "b"]) await uploads.keep(name.id, part(text));
      const remains = await uploads.abandon(name, "open");
      expect([texts(remains?.parts ?? []), remains?.doubtful]).toEqual([["a", "b"], false]);
      expect(await uploads.abandon(name, "open")).toBeUndefined();
      await expect(uploads.complete(name)).rejects.toMatchObject({ code: 13 });
      expect((await uploads.remains()).map(({ upload }) => upload.id)).toEqual([name.id]);
      await remains?.removed();
      expect(await uploads.remains()).toEqual([]);
    });

    it("end after a day without activity, and not before", async () => {
      const { uploads, ...open } = await newCatalog().open();
      const idle = await begun({ uploads, ...open }, "idle");
      const stuck = await begun({ uploads, ...open }, "stuck");
      const busy = await begun({ uploads, ...open }, "busy");
      const done = await begun({ uploads, ...open }, "done");
      for (const { id } of [idle, stuck, busy, done]) await uploads.keep(id, part("a"));
      await uploads.complete(stuck);
      await uploads.complete(done);
      await uploads.committed(done.id, 4);
      const now = Date.now();
      vi.useFakeTimers({ toFake: ["Date"], now: now + 23 * HOUR });
      expect(await uploads.remains()).toEqual([]);
      await uploads.keep(busy.id, part("b"));
      vi.setSystemTime(now + 25 * HOUR);
      const left = await uploads.remains();
      const told = left.map(({ upload, doubtful }) => [upload.id, doubtful]);
      expect(told.sort()).toEqual(
        [
          [idle.id, false],
          [stuck.id, true],
        ].sort(),
      );
      for (const one of left) await one.removed();
      expect(await uploads.open(busy)).toMatchObject({ id: busy.id });
      for (const name of [idle, stuck, done]) {
        await expect(uploads.complete(name)).rejects.toMatchObject({ code: 13 });
      }
    });

    it("go with their table", async () => {
      const { uploads, catalog } = await newCatalog().open();
      const { key } = await makeTable({ catalog }, ["t"]);
      const id = await uploads.begin({ table: key, branch: "dev", version: 1 });
      await uploads.keep(id, part("a"));
      await catalog.dropTable(["t"]);
      await catalog.forgetTable(key);
      await expect(uploads.complete({ id, table: key, branch: "dev" })).rejects.toMatchObject({
        code: 13,
      });
      const late = uploads.begin({ table: key, branch: undefined, version: 1 });
      await expect(late).rejects.toMatchObject({ code: 14 });
    });
  });
});
