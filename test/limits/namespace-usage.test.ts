import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ErrorCode, JoustError } from "../../src/foundation/errors.js";
import { NamespaceUsage, type UsageDependencies } from "../../src/limits/namespace-usage.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** Tables by identifier, and how often each was measured. */
function newUsage(tables: Record<string, number>) {
  const measured: Record<string, number> = {};
  let listings = 0;
  const existing = (id: readonly string[]) => {
    const rows = tables[id.join("$")];
    if (rows === undefined) throw new JoustError(ErrorCode.TableNotFound, "no such table");
    return rows;
  };
  const dependencies = {
    config: { storageOptions: {} },
    catalog: {
      // Pages of one table.
      async listAllTables({ pageToken = "0" }: { pageToken?: string }) {
        listings += 1;
        const ids = Object.keys(tables).map((id) => id.split("$"));
        const at = Number(pageToken);
        const isLast = at + 1 >= ids.length;
        return { items: ids.slice(at, at + 1), ...(!isLast && { pageToken: String(at + 1) }) };
      },
      async table(id: readonly string[]) {
        existing(id);
        return { key: id.join("$"), location: id.join("$"), storageOptions: {} };
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
  return { usage: new NamespaceUsage(dependencies), measured, listings: () => listings };
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
});
