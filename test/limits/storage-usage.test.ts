import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ListingOptions } from "../../src/catalog/catalog.js";
import { ErrorCode, JoustError } from "../../src/foundation/errors.js";
import { StorageUsage, type UsageDependencies } from "../../src/limits/storage-usage.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/**
 * Tables by identifier, and how often each was measured.
 *
 * `creators`: of some tables, by identifier. `onListing` runs before each page of a listing.
 */
function newUsage(
  tables: Record<string, number>,
  { creators = {}, onListing = async () => {} }: Options = {},
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
        { creator }: ListingOptions,
      ) {
        listings += 1;
        const ids = Object.keys(tables)
          .map((id) => id.split("$"))
          .filter((id) => creator === undefined || creatorOf(id) === creator);
        await onListing();
        const at = Number(pageToken);
        const isLast = at + 1 >= ids.length;
        return { items: ids.slice(at, at + 1), ...(!isLast && { pageToken: String(at + 1) }) };
      },
      async table(id: readonly string[]) {
        existing(id);
        const name = id.join("$");
        return { key: name, location: name, storageOptions: {}, creator: creatorOf(id) };
      },
    },
    engine: {
      table: (location: string) => ({
        async stats() {
          measured[location] = (measured[location] ?? 0) + 1;
          const rows = existing(location.split("$"));
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
}

const team = { namespace: ["team"], rows: 100 };

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
    let endListing = () => {};
    let listing: Promise<void> | undefined;
    const { usage, measured, listings } = newUsage(tables, { onListing: async () => listing });
    await usage.of(team);
    vi.advanceTimersByTime(31_000);
    listing = new Promise((resolve) => {
      endListing = resolve;
    });
    await usage.of(team);
    expect(listings()).toBe(2);
    vi.advanceTimersByTime(1);
    tables.team$new = 5;
    usage.tableChanged(["team", "new"]);
    expect((await usage.of(team)).rows).toBe(7);
    endListing();
    // A second question would find the table by itself, so the measurement has to end first.
    await vi.waitFor(() => expect(measured.team$a).toBe(2));
    expect((await usage.of(team)).rows).toBe(7);
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
    expect(await usage.of({ creator: "nobody" })).toEqual({ rows: 0, bytes: 0 });
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

  it("is measured again before the caller counts as full", async () => {
    const tables: Record<string, number> = { a: 200 };
    const { usage } = newUsage(tables, { creators: { a: "ann" } });
    expect((await usage.of(ann)).rows).toBe(200);
    delete tables.a;
    vi.advanceTimersByTime(1_100);
    expect((await usage.of(ann)).rows).toBe(0);
  });
});
