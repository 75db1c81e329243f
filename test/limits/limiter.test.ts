import { describe, expect, it } from "vitest";
import { parseLimits } from "../../src/limits/limit-file.js";
import { LimitMemory } from "../../src/limits/limit-memory.js";
import type { LimitOwner, StorageLimit } from "../../src/limits/limit-owner.js";
import { rulesWithoutFile } from "../../src/limits/limit-rules.js";
import { Limiter, type StoredTable } from "../../src/limits/limiter.js";
import type { LimitedWork, RequestAdmission } from "../../src/limits/request-admission.js";

const unused = (): never => {
  throw new Error("no limit of these tests needs the catalog");
};
const owner: LimitOwner = {
  storageOf: unused,
  tableChanged: unused,
  reserveJob: unused,
  endReservation: unused,
};
const caller = { id: "1", name: "etl", role: "write" };
const limiterOf = (text: string): Limiter =>
  new Limiter(parseLimits(text, "limits.yaml"), new LimitMemory(), owner);

it("further work of a request is not refused, and the next requests wait for it", () => {
  const limiter = limiterOf("keys: { etl: { requests_per_second: 0.001, burst: 10 } }");
  const admit = () => limiter.admit({ caller, namespace: undefined, work: [] });
  admit();
  for (let row = 0; row < 8; row++) limiter.chargeRequest(caller);
  admit();
  expect(admit).toThrow(/exceeds 0.001 requests per second/);
  for (let row = 0; row < 50; row++) limiter.chargeRequest(caller);
  expect(admit).toThrow(/after 51\d{3} s/);
});

it.each<[string, boolean]>([
  ["", false],
  ["unauthenticated: { requests_per_second: 1 }", false],
  ["defaults: { caller: { jobs: 1 } }", true],
  ["defaults: { namespace: { rows: 1 } }", true],
  ["defaults: { caller: { rows: 1 } }", true],
  ["keys: { etl: { jobs: 1 } }", true],
  ["users: { a: { jobs: 1 } }", true],
  ["groups: { a: { jobs: 1 } }", true],
  ["roles: { read: { jobs: 1 } }", true],
  ["namespaces: { a: { rows: 1 } }", true],
])("knows whether it limits callers: %j", (text, expected) => {
  expect(limiterOf(text).limitsCallers).toBe(expected);
});

describe("the rows and bytes that a limiter asks for before a write", () => {
  const text = "{ keys: { etl: { rows: 10 } }, namespaces: { team: { rows: 20, bytes: 30 } } }";
  const ofCaller = { creator: "1", rows: 10 };
  const ofTeam = { namespace: ["team"], rows: 20, bytes: 30 };

  /** What a limiter asks for if nothing is stored. */
  async function asked(check: (limiter: Limiter) => RequestAdmission): Promise<StorageLimit[]> {
    const limits: StorageLimit[] = [];
    const storageOf: LimitOwner["storageOf"] = async (wanted) => {
      limits.push(...wanted);
      return wanted.map(() => ({ rows: 0, bytes: 0 }));
    };
    const rules = parseLimits(text, "limits.yaml");
    await check(new Limiter(rules, new LimitMemory(), { ...owner, storageOf })).checkStorage();
    return limits;
  }
  const request = (namespace: string[] | undefined, work: LimitedWork) => (limiter: Limiter) =>
    limiter.admit({ caller, namespace, work: [work] });

  it("are those of the caller and of the namespaces of the table", async () => {
    expect(await asked(request(["team", "a"], "storage"))).toEqual([ofCaller, ofTeam]);
    expect(await asked(request(["other"], "storage"))).toEqual([ofCaller]);
    expect(await asked(request(undefined, "storage"))).toEqual([ofCaller]);
    const { id, name, role } = { ...caller, id: "2", name: "other" };
    const other = { caller: { id, name, role }, namespace: ["team"], work: ["storage"] as const };
    expect(await asked((limiter) => limiter.admit(other))).toEqual([ofTeam]);
  });

  it("are none before a query or a job", async () => {
    expect(await asked(request(["team"], "query"))).toEqual([]);
    expect(await asked(request(["team"], "job"))).toEqual([]);
  });

  it("are those of all tables of a batch, and not of the caller that moves a table", async () => {
    const stored = (...tables: StoredTable[]) =>
      asked((limiter) => limiter.storage(caller, tables));
    expect(await stored({ id: ["team", "a"] }, { id: ["team", "b"] })).toEqual([ofCaller, ofTeam]);
    expect(await stored({ id: ["team", "a"], from: ["a"] })).toEqual([ofTeam]);
    expect(await stored({ id: ["team", "a"], from: ["team", "b"] })).toEqual([]);
    expect(await stored()).toEqual([]);
  });
});

it("without a file, requests without a key have a budget, and callers have none", () => {
  const limiter = new Limiter(rulesWithoutFile, new LimitMemory(), owner);
  const flood = (count: number, address: (n: number) => string) => {
    for (let n = 0; n < count; n++) limiter.admitUnauthenticated(address(n), "");
  };
  expect(() => flood(2_000, () => "203.0.113.1")).toThrow(/this address exceeds 500 such requests/);
  flood(100, () => "203.0.113.2");
  expect(() => flood(20_000, (n) => `10.1.${n >> 8}.${n & 255}`)).toThrow(/all addresses together/);
  for (let n = 0; n < 10_000; n++) limiter.admit({ caller, namespace: ["a"], work: ["query"] });
});
