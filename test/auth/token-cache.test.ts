import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Identity } from "../../src/auth/authenticator.js";
import { TokenCache } from "../../src/auth/oidc/token-cache.js";

const caller = (id: string): Identity => ({ id, name: id, role: "read", groups: [] });

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("returns the caller of a token until its end", () => {
  const cache = new TokenCache();
  cache.set("t", caller("a"), Date.now() + 1_000, cache.generation);
  vi.advanceTimersByTime(999);
  expect(cache.get("t")).toEqual(caller("a"));
  vi.advanceTimersByTime(1);
  expect(cache.get("t")).toBeUndefined();
});

it("removes the oldest token if it is full", () => {
  const cache = new TokenCache(2);
  for (const id of ["a", "b", "c"]) {
    cache.set(id, caller(id), Date.now() + 1_000, cache.generation);
  }
  expect(["a", "b", "c"].map((id) => cache.get(id)?.id)).toEqual([undefined, "b", "c"]);
});

it("refuses a token that was verified before the keys changed", () => {
  const cache = new TokenCache();
  const { generation } = cache;
  cache.set("former", caller("a"), Date.now() + 1_000, generation);
  cache.clear();
  cache.set("late", caller("b"), Date.now() + 1_000, generation);
  expect(cache.get("former")).toBeUndefined();
  expect(cache.get("late")).toBeUndefined();
});
