import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { afterEach, describe, expect, it, vi } from "vitest";
import { openCatalog } from "../../src/server/open-catalog.js";
import { describeOnEachDatabase } from "../catalog/catalog-databases.js";
import { waitFor } from "../harness/wait-for.js";

afterEach(() => {
  vi.restoreAllMocks();
});

describe("the servers of one catalog", () => {
  describeOnEachDatabase((newCatalog, kind) => {
    it("take a lease one at a time even if their own clocks are wrong", async () => {
      const open = newCatalog();
      const [first, second] = [(await open.open()).catalog, (await open.open()).catalog];
      const duty = randomUUID();
      expect(await first.takeLease(duty, 500)).toBe(true);
      if (kind === "postgres") {
        // On one machine there is one clock.
        const now = Date.now();
        vi.spyOn(Date, "now").mockReturnValue(now + 3_600_000);
        expect(await second.takeLease(duty, 500)).toBe(false);
        vi.spyOn(Date, "now").mockReturnValue(now - 3_600_000);
      }
      expect(await second.takeLease(duty, 500)).toBe(false);
      await waitFor("it is due again", () => second.takeLease(duty, 500));
      expect(await first.takeLease(duty, 500)).toBe(false);
      expect(await first.takeLease(randomUUID(), 500)).toBe(true);
    });

    it("take a lease whose last renewal is in the future", async () => {
      const open = newCatalog();
      const { catalog } = await open.open();
      // As before the clock was set back by a day.
      const later = Date.now() + 86_400_000;
      const spied = kind === "sqlite" ? vi.spyOn(Date, "now").mockReturnValue(later) : undefined;
      expect(await catalog.takeLease("round", 60_000)).toBe(true);
      if (!spied) return;
      spied.mockRestore();
      expect(await catalog.takeLease("round", 60_000)).toBe(true);
      expect(await catalog.takeLease("round", 60_000)).toBe(false);
    });

    it("learn how long their own lease is valid if leases expire by time", async () => {
      const { root, url } = newCatalog();
      const onLease = vi.fn();
      const log = pino({ level: "silent" });
      const opened = await openCatalog({ root, url, log, role: "server", onLease });
      const left = onLease.mock.calls.map(([ms]) => ms);
      if (kind === "sqlite") expect(left).toEqual([]);
      else {
        expect(left).toHaveLength(1);
        expect(left[0]).toBeGreaterThan(15_000);
        expect(left[0]).toBeLessThanOrEqual(25_000);
      }
      await opened.close();
    });
  });
});
