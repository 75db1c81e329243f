import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ListingOptions } from "../../src/catalog/catalog.js";
import { isBelow } from "../../src/catalog/path.js";
import { ErrorCode, JoustError } from "../../src/foundation/errors.js";
import { StorageUsage, type UsageDependencies } from "../../src/limits/storage-usage.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/**
 * Tables by identifier, and how often each was measured.
 *
 * `creators`: of some tables, by identifier. `onListing` runs before each page of a listing, `onLookup` before each
 * lookup of a table, and `onStats` between the measurement of a table and its result.
 */
function newUsage(
  tables: Record<string, number>,
  {
    creators = {},
    onListing = async () => {},
    onLookup = () => {},
    onStats = async () => {},
  }: Options = {},
) {
  const measured: Record<string, number> = {};
  let listings = 0;
  const existing = (id: readonly string[]) => {
    const rows = tables[id.join("$")];
    if (rows === undefined) throw new JoustError(ErrorCode.TableNotFound, "no such table");
    return rows;
  };
  const creatorOf = (id: readonly string[]) => creators[id.join("$")] ?? null;
  const dependencies = {
    config: { storageOptions: {} },
    catalog: {
      // Pages of one table.
      async listAllTables(
        { pageToken = "0" }: { pageToken?: string },
        { creator, within = [] }: ListingOptions,
      ) {
        listings += 1;
        const ids = Object.keys(tables)
          .map((id) => id.split("$"))
          .filter((id) => creator === undefined || creatorOf(id) === creator)
          .filter((id) => isBelow(id, within));
        await onListing();
        const at = Number(pageToken);
        const isLast = at + 1 >= ids.length;
        return { items: ids.slice(at, at + 1), ...(!isLast && { pageToken: String(at + 1) }) };
      },
      async table(id: readonly string[]) {
        const name = id.join("$");
        onLookup(name);
        existing(id);
        return { key: name, location: name, storageOptions: {}, creator: creatorOf(id) };
      },
    },
    engine: {
      table: (location: string) => ({
        async stats() {
          measured[location] = (measured[location] ?? 0) + 1;
          const rows = existing(location.split("$"));
          await onStats(location);
          await setImmediate();
          return { numRows: rows, totalBytes: rows * 10 };
        },
      }),
    },
  } as unknown as UsageDependencies;
  return { usage: new StorageUsage(dependencies), measured, listings: () => listings };
}

interface Options {
  creators?: Record<string, string>;
  onListing?: () => Promise<void>;
  onLookup?: (name: string) => void;
  onStats?: (name: string) => Promise<void>;
}

/** A promise that the test resolves. */
function newSignal(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

const team = { namespace: ["team"], rows: 100 };

/** The first measurement of `team` has measured team$a, and waits for team$b until `slow` is resolved. */
async function duringFirstMeasurement(tables: Record<string, number>) {
  const slow = newSignal();
  const { usage, measured } = newUsage(tables, {
    onStats: async (name) => (name === "team$b" ? slow.promise : undefined),
  });
  const first = usage.of(team);
  await vi.waitFor(() => expect(measured).toEqual({ team$a: 1, team$b: 1 }));
  return { usage, slow, first };
}

describe("the usage of a namespace", () => {
  it("is the sum of its tables and of those below it", async () => {
    const tables = { a: 1, team$a: 2, team$deep$b: 3, teams$c: 4 };
    const { usage } = newUsage(tables);
    expect(await usage.of(team)).toEqual({ rows: 5, bytes: 50 });
    expect(await usage.of({ namespace: [] })).toEqual({ rows: 10, bytes: 100 });
    expect(await usage.of({ namespace: ["team", "deep"] })).toEqual({ rows: 3, bytes: 30 });
    expect(await usage.of({ namespace: ["none"] })).toEqual({ rows: 0, bytes: 0 });
  });

  it("measures a table again after a change through this server, and no other table", async () => {
    const tables: Record<string, number> = { team$a: 2, team$b: 3 };
    const { usage, measured } = newUsage(tables);
    await usage.of(team);
    tables.team$a = 20;
    tables.team$new = 1;
    expect((await usage.of(team)).rows).toBe(5);
    usage.tableChanged(["team", "a"]);
    usage.tableChanged(["team", "new"]);
    expect((await usage.of(team)).rows).toBe(24);
    expect(measured).toEqual({ team$a: 2, team$b: 1, team$new: 1 });
  });

  it("finds the writes of other servers after a while, without a delay of requests", async () => {
    const tables: Record<string, number> = { team$a: 2 };
    const { usage } = newUsage(tables);
    await usage.of(team);
    tables.team$b = 7;
    vi.advanceTimersByTime(29_000);
    expect((await usage.of(team)).rows).toBe(2);
    vi.advanceTimersByTime(2_000);
    await usage.of(team);
    await vi.waitFor(async () => expect((await usage.of(team)).rows).toBe(9));
  });

  it("is measured again before a namespace counts as full, at most once a second", async () => {
    const tables: Record<string, number> = { team$a: 200 };
    const { usage, listings } = newUsage(tables);
    expect((await usage.of(team)).rows).toBe(200);
    tables.team$a = 5;
    expect((await usage.of(team)).rows).toBe(200);
    expect(listings()).toBe(1);
    vi.advanceTimersByTime(1_100);
    expect((await usage.of(team)).rows).toBe(5);
    expect(listings()).toBe(2);
  });

  it("does not count tables that are dropped, also while it measures", async () => {
    const tables: Record<string, number> = { team$a: 200, team$b: 1 };
    const { usage } = newUsage(tables);
    await usage.of(team);
    delete tables.team$a;
    usage.tableChanged(["team", "a"]);
    expect((await usage.of(team)).rows).toBe(1);
    delete tables.team$b;
    tables.team$c = 3;
    vi.advanceTimersByTime(60_000);
    await usage.of(team);
    await vi.waitFor(async () => expect((await usage.of(team)).rows).toBe(3));
  });

  it("counts a table that is created while all tables are listed", async () => {
    const tables: Record<string, number> = { team$a: 2 };
    const listed = newSignal();
    let listing: Promise<void> | undefined;
    const { usage, measured, listings } = newUsage(tables, { onListing: async () => listing });
    await usage.of(team);
    vi.advanceTimersByTime(31_000);
    listing = listed.promise;
    await usage.of(team);
    expect(listings()).toBe(2);
    vi.advanceTimersByTime(1);
    tables.team$new = 5;
    usage.tableChanged(["team", "new"]);
    expect((await usage.of(team)).rows).toBe(7);
    listed.resolve();
    // A second question would find the table by itself, so the measurement has to end first.
    await vi.waitFor(() => expect(measured.team$a).toBe(2));
    expect((await usage.of(team)).rows).toBe(7);
  });

  it("includes a change during the first measurement", async () => {
    const tables: Record<string, number> = { team$a: 2, team$b: 3 };
    const { usage, slow, first } = await duringFirstMeasurement(tables);
    tables.team$a = 20;
    usage.tableChanged(["team", "a"]);
    slow.resolve();
    expect((await first).rows).toBe(23);
  });

  it("is that of the measurement that began last", async () => {
    const tables: Record<string, number> = { team$a: 2 };
    const slow = newSignal();
    let wait: Promise<void> | undefined;
    const { usage, measured } = newUsage(tables, { onStats: async () => wait });
    await usage.of(team);
    vi.advanceTimersByTime(31_000);
    wait = slow.promise;
    await usage.of(team);
    await vi.waitFor(() => expect(measured.team$a).toBe(2));
    wait = undefined;
    vi.advanceTimersByTime(1);
    tables.team$a = 20;
    usage.tableChanged(["team", "a"]);
    expect((await usage.of(team)).rows).toBe(20);
    slow.resolve();
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    expect((await usage.of(team)).rows).toBe(20);
  });

  it("finds changes after the catalog failed", async () => {
    const tables: Record<string, number> = { team$a: 2, team$b: 3 };
    let fails = false;
    const { usage } = newUsage(tables, {
      onLookup() {
        if (fails) throw new JoustError(ErrorCode.ServiceUnavailable, "no catalog");
      },
    });
    await usage.of(team);
    tables.team$a = 20;
    tables.team$b = 30;
    usage.tableChanged(["team", "a"]);
    usage.tableChanged(["team", "b"]);
    fails = true;
    await expect(usage.of(team)).rejects.toThrow("no catalog");
    fails = false;
    expect((await usage.of(team)).rows).toBe(50);
  });

  it("measures no tables that no limit includes", async () => {
    const { usage, measured } = newUsage(
      { team$a: 2, other$b: 3 },
      { creators: { other$b: "bob" } },
    );
    await usage.of(team);
    usage.tableChanged(["other", "b"]);
    await usage.of(team);
    expect(measured).toEqual({ team$a: 1 });
  });

  it("is measured again after more changes than joust notes", async () => {
    const tables: Record<string, number> = { team$a: 2 };
    const { usage, listings } = newUsage(tables);
    await usage.of(team);
    tables.team$a = 5;
    usage.tableChanged(["team", "a"]);
    for (let at = 0; at < 10_000; at += 1) usage.tableChanged(["other", String(at)]);
    expect((await usage.of(team)).rows).toBe(5);
    expect(listings()).toBe(2);
  });

  it("is measured again after more changes than joust notes during a measurement", async () => {
    const tables: Record<string, number> = { team$a: 2, team$b: 3 };
    const { usage, slow, first } = await duringFirstMeasurement(tables);
    tables.team$a = 20;
    usage.tableChanged(["team", "a"]);
    for (let at = 0; at < 10_000; at += 1) usage.tableChanged(["other", String(at)]);
    slow.resolve();
    await first;
    expect((await usage.of(team)).rows).toBe(23);
  });

  it("is measured once for a request that waits for the measurement", async () => {
    const { usage, listings } = newUsage({ team$a: 200 });
    await usage.of(team);
    vi.advanceTimersByTime(400_000);
    expect((await usage.of(team)).rows).toBe(200);
    expect(listings()).toBe(2);
  });

  it("measures four tables at a time, of all scopes together", async () => {
    const names = Array.from({ length: 12 }, (_, at) => `team$${at}`);
    let running = 0;
    let most = 0;
    const { usage } = newUsage(Object.fromEntries(names.map((name) => [name, 1])), {
      async onStats() {
        running += 1;
        most = Math.max(most, running);
        await setImmediate();
        running -= 1;
      },
    });
    await Promise.all([usage.of(team), usage.of({ namespace: [] })]);
    for (const name of names) usage.tableChanged(name.split("$"));
    await usage.of(team);
    expect(most).toBe(4);
  });
});

describe("the usage of a caller", () => {
  const ann = { creator: "ann", rows: 100 };

  it("is the sum of the tables that it created, in every namespace", async () => {
    const tables = { a: 1, team$a: 2, team$b: 4, other$c: 8 };
    const creators = { a: "ann", team$a: "ann", team$b: "bob" };
    const { usage } = newUsage(tables, { creators });
    expect(await usage.of(ann)).toEqual({ rows: 3, bytes: 30 });
    expect(await usage.of({ creator: "bob" })).toEqual({ rows: 4, bytes: 40 });
    expect(await usage.of({ creator: "eve" })).toEqual({ rows: 0, bytes: 0 });
    // A caller may have the name of a namespace.
    expect((await usage.of({ creator: "team" })).rows).toBe(0);
    expect((await usage.of(team)).rows).toBe(6);
  });

  it("counts a table for its creator and its namespace after one measurement of it", async () => {
    const tables: Record<string, number> = { team$a: 2 };
    const { usage, measured } = newUsage(tables, { creators: { team$a: "ann" } });
    await usage.of(ann);
    await usage.of(team);
    tables.team$a = 7;
    usage.tableChanged(["team", "a"]);
    const used = await Promise.all([usage.of(ann), usage.of(team)]);
    expect(used.map(({ rows }) => rows)).toEqual([7, 7]);
    expect(measured).toEqual({ team$a: 3 });
  });

  it("keeps a table that moves, and loses one that another caller replaces", async () => {
    const tables: Record<string, number> = { a: 2, b: 3 };
    const creators: Record<string, string> = { a: "ann", b: "ann", team$a: "ann" };
    const { usage } = newUsage(tables, { creators });
    await usage.of(ann);
    delete tables.a;
    tables.team$a = 2;
    usage.tableChanged(["a"]);
    usage.tableChanged(["team", "a"]);
    expect((await usage.of(ann)).rows).toBe(5);
    creators.b = "bob";
    usage.tableChanged(["b"]);
    expect((await usage.of(ann)).rows).toBe(2);
  });

  it("finds after a while that another server dropped, moved and replaced tables", async () => {
    const tables: Record<string, number> = { a: 1, b: 2, c: 4, d: 8 };
    const creators: Record<string, string> = { a: "ann", b: "ann", moved: "ann", c: "ann" };
    const { usage } = newUsage(tables, { creators });
    expect((await usage.of(ann)).rows).toBe(7);
    delete tables.a;
    delete tables.b;
    tables.moved = 2;
    creators.c = "bob";
    vi.advanceTimersByTime(31_000);
    await usage.of(ann);
    await vi.waitFor(async () => expect((await usage.of(ann)).rows).toBe(2));
  });

  it("leaves the tables to their namespace that another server replaced", async () => {
    const tables: Record<string, number> = { team$a: 2, team$b: 3 };
    const creators: Record<string, string> = { team$a: "ann", team$b: "ann" };
    const { usage } = newUsage(tables, { creators });
    await usage.of(ann);
    vi.advanceTimersByTime(20_000);
    expect((await usage.of(team)).rows).toBe(5);
    creators.team$a = "bob";
    vi.advanceTimersByTime(11_000);
    await usage.of(ann);
    await vi.waitFor(async () => expect((await usage.of(ann)).rows).toBe(3));
    expect((await usage.of(team)).rows).toBe(5);
  });

  it("is measured again before the caller counts as full", async () => {
    const tables: Record<string, number> = { a: 200 };
    const { usage } = newUsage(tables, { creators: { a: "ann" } });
    expect((await usage.of(ann)).rows).toBe(200);
    delete tables.a;
    vi.advanceTimersByTime(1_100);
    expect((await usage.of(ann)).rows).toBe(0);
  });
});
