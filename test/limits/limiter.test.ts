import { expect, it } from "vitest";
import { parseLimits, rulesWithoutFile } from "../../src/limits/limit-file.js";
import { LimitMemory } from "../../src/limits/limit-memory.js";
import type { LimitOwner } from "../../src/limits/limit-owner.js";
import { Limiter } from "../../src/limits/limiter.js";

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
  ["keys: { etl: { jobs: 1 } }", true],
  ["users: { a: { jobs: 1 } }", true],
  ["groups: { a: { jobs: 1 } }", true],
  ["roles: { read: { jobs: 1 } }", true],
  ["namespaces: { a: { rows: 1 } }", true],
])("knows whether it limits callers: %j", (text, expected) => {
  expect(limiterOf(text).limitsCallers).toBe(expected);
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
