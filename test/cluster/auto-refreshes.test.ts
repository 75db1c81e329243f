import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { describeOnEachDatabase, makeTable } from "../catalog/catalog-databases.js";

/** A check is postponed by so much, ms. */
const POSTPONED = 600;

describe("the declarations of automatic refreshes", () => {
  describeOnEachDatabase((newCatalog) => {
    const declaration = (table: string, column: string, more: object = {}) => ({
      table,
      column,
      intervalMs: 1_000,
      always: false,
      ...more,
    });

    it("are checked by one server at a time, and by another one if that server does not report", async () => {
      const open = newCatalog();
      const [first, second] = [await open.open(), await open.open()];
      const { key } = await makeTable(first, ["t"]);
      await first.autoRefreshes.declare(declaration(key, "a"));
      await second.autoRefreshes.declare(declaration(key, "b"));
      const take = (server: typeof first) => server.autoRefreshes.takeDue(8, POSTPONED, true);
      const taken = (await Promise.all([take(first), take(second)])).flat();
      expect(taken.map(({ column }) => column).sort()).toEqual(["a", "b"]);
      expect(await take(second)).toEqual([]);
      const [reported, lost] = taken;
      if (!reported || !lost) throw new Error("two declarations were taken");
      await first.autoRefreshes.checked(reported, '{"computed":1}', 60_000);
      await delay(POSTPONED + 100);
      expect((await take(second)).map(({ column }) => column)).toEqual([lost.column]);
    });

    it("are due again after their interval, with the state of the last check", async () => {
      const { catalog, autoRefreshes } = await newCatalog().open();
      const { key } = await makeTable({ catalog }, ["t"]);
      await autoRefreshes.declare(declaration(key, ""));
      const [due] = await autoRefreshes.takeDue(1, 60_000, true);
      expect(due).toEqual({ table: key, column: "", state: "" });
      if (!due) return;
      await autoRefreshes.checked(due, '{"failures":1}', 300);
      expect(await autoRefreshes.takeDue(1, 60_000, true)).toEqual([]);
      await delay(400);
      const [again] = await autoRefreshes.takeDue(1, 60_000, true);
      expect(again).toEqual({ table: key, column: "", state: '{"failures":1}' });
      // The same declaration changes nothing; another interval is due at once.
      await autoRefreshes.declare(declaration(key, ""));
      expect(await autoRefreshes.takeDue(1, 60_000, true)).toEqual([]);
      await autoRefreshes.declare(declaration(key, "", { intervalMs: 2_000 }));
      expect(await autoRefreshes.takeDue(1, 60_000, true)).toEqual([again]);
    });

    it("keep a state that was put during a check", async () => {
      const { catalog, autoRefreshes } = await newCatalog().open();
      const { key } = await makeTable({ catalog }, ["v"]);
      await autoRefreshes.put(declaration(key, ""), '{"sources":[]}');
      const [due] = await autoRefreshes.takeDue(1, 60_000, true);
      await autoRefreshes.put(declaration(key, ""), '{"sources":[{"key":"s"}]}');
      if (!due) throw new Error("the declaration was due");
      await autoRefreshes.checked(due, "{}", 60_000);
      await autoRefreshes.remove(due);
      const [again] = await autoRefreshes.takeDue(1, 60_000, true);
      expect(again?.state).toBe('{"sources":[{"key":"s"}]}');
    });

    it("are left to other servers by a server with maintenance off, unless the table demands it", async () => {
      const { catalog, autoRefreshes } = await newCatalog().open();
      const { key } = await makeTable({ catalog }, ["t"]);
      await autoRefreshes.declare(declaration(key, "a"));
      await autoRefreshes.declare(declaration(key, "b", { always: true }));
      const taken = await autoRefreshes.takeDue(8, 60_000, false);
      expect(taken.map(({ column }) => column)).toEqual(["b"]);
    });

    it("are removed with their table, and a removed table gets no new ones", async () => {
      const { catalog, autoRefreshes } = await newCatalog().open();
      const { key } = await makeTable({ catalog }, ["t"]);
      await autoRefreshes.declare(declaration(key, "a"));
      await catalog.dropTable(["t"]);
      await catalog.forgetTable(key);
      await autoRefreshes.declare(declaration(key, "b"));
      expect(await autoRefreshes.takeDue(8, 60_000, true)).toEqual([]);
    });

    it("of thousands of columns are taken in small groups, the longest overdue first", async () => {
      const { catalog, autoRefreshes } = await newCatalog().open();
      const { key } = await makeTable({ catalog }, ["t"]);
      const columns = Array.from({ length: 2_000 }, (_, n) => `c${n}`);
      for (const column of columns) await autoRefreshes.declare(declaration(key, column));
      const seen = new Set<string>();
      for (;;) {
        const taken = await autoRefreshes.takeDue(100, 60_000, true);
        if (taken.length === 0) break;
        expect(taken.length).toBeLessThanOrEqual(100);
        for (const { column } of taken) seen.add(column);
      }
      expect(seen.size).toBe(columns.length);
    });
  });
});
