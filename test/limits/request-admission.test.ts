import { describe, expect, it } from "vitest";
import { LimitMemory } from "../../src/limits/limit-memory.js";
import type { LimitOwner } from "../../src/limits/limit-owner.js";
import type { LimitRules } from "../../src/limits/limit-rules.js";
import { Limiter } from "../../src/limits/limiter.js";

const rate = { perSecond: 1_000, burst: 1_000 };
const rules: LimitRules = {
  defaults: { caller: { concurrent_queries: 1 }, namespace: {} },
  keys: {},
  users: {},
  groups: {},
  roles: {},
  namespaces: {},
  unauthenticated: { total: rate, perAddress: rate, trustedProxies: [] },
};
const owner: LimitOwner = {
  storageOf: async () => [],
  tableChanged: () => {},
  reserveJob: async () => ({ ticket: "1" }),
  endReservation: () => {},
};
const caller = { id: "key:1", name: "etl", role: "read" };

describe("the place of a query", () => {
  const newLimiter = () => new Limiter(rules, new LimitMemory(), owner);
  const admit = (limiter: Limiter) =>
    limiter.admit({ caller, namespace: undefined, work: ["query"] });

  it("is free when the request has ended", () => {
    const limiter = newLimiter();
    const first = admit(limiter);
    expect(() => admit(limiter)).toThrow(/concurrent/);
    first.end();
    admit(limiter).end();
  });

  it("stays taken while the work continues after the reply at the deadline", async () => {
    const limiter = newLimiter();
    let resolve: (outcome: string) => void = () => {};
    const promise = new Promise<string>((end) => {
      resolve = end;
    });
    const first = admit(limiter);
    const done = first.run(
      { id: ["t"] },
      () => promise,
      () => undefined,
    );
    first.end();
    expect(() => admit(limiter)).toThrow(/concurrent/);
    resolve("done");
    expect(await done).toBe("done");
    admit(limiter).end();
  });

  it("is free when work that failed ends after the reply", async () => {
    const limiter = newLimiter();
    let reject: (error: Error) => void = () => {};
    const promise = new Promise<string>((_, end) => {
      reject = end;
    });
    const first = admit(limiter);
    const done = first.during(promise);
    first.end();
    reject(new Error("failed"));
    await expect(done).rejects.toThrow("failed");
    admit(limiter).end();
  });
});
