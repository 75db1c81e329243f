import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ReportedKeyUses, StoredKeyUses } from "../../src/auth/key-uses.js";
import { createLogger } from "../../src/telemetry/logger.js";

const log = createLogger("silent");

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("stores the uses of keys once a minute and when the server stops", async () => {
  const stored: (readonly string[])[] = [];
  const uses = new StoredKeyUses(async (ids) => void stored.push(ids), log);
  for (const id of ["a", "b", "a"]) uses.add(id);
  expect(stored).toEqual([]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(stored).toEqual([["a", "b"]]);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(stored).toHaveLength(1);
  uses.add("c");
  await uses.stop();
  expect(stored).toEqual([["a", "b"], ["c"]]);
});

it("stores the uses of a failed attempt with the next one", async () => {
  const stored: (readonly string[])[] = [];
  let fails = true;
  const store = async (ids: readonly string[]) => {
    if (fails) throw new Error("no space");
    stored.push(ids);
  };
  const uses = new StoredKeyUses(store, log);
  uses.add("a");
  await vi.advanceTimersByTimeAsync(60_000);
  fails = false;
  uses.add("b");
  await uses.stop();
  expect(stored.flat().sort()).toEqual(["a", "b"]);
});

it("a store that fails does not stop the server", async () => {
  const uses = new StoredKeyUses(() => Promise.reject(new Error("no space")), log);
  uses.add("a");
  await vi.advanceTimersByTimeAsync(60_000);
  uses.add("b");
  await expect(uses.stop()).resolves.toBeUndefined();
});

it("a worker thread reports each key once a minute", async () => {
  const reported: string[] = [];
  const uses = new ReportedKeyUses((id) => reported.push(id));
  for (const id of ["a", "b", "a"]) uses.add(id);
  expect(reported).toEqual(["a", "b"]);
  await vi.advanceTimersByTimeAsync(60_000);
  uses.add("a");
  expect(reported).toEqual(["a", "b", "a"]);
});
