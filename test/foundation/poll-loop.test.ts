import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { startPolling } from "../../src/foundation/poll-loop.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const noFailure = (error: unknown) => {
  throw error;
};

it("calls after each interval, or first at once", async () => {
  const later = vi.fn(async () => {});
  const atOnce = vi.fn(async () => {});
  const stops = [
    startPolling(100, later, noFailure),
    startPolling(100, atOnce, noFailure, { immediate: true }),
  ];
  expect([later, atOnce].map((work) => work.mock.calls.length)).toEqual([0, 1]);
  await vi.advanceTimersByTimeAsync(250);
  expect([later, atOnce].map((work) => work.mock.calls.length)).toEqual([2, 3]);
  for (const stop of stops) await stop();
  await vi.advanceTimersByTimeAsync(1_000);
  expect([later, atOnce].map((work) => work.mock.calls.length)).toEqual([2, 3]);
});

it("never calls twice at a time, and waits for the running call when it is stopped", async () => {
  let end = () => {};
  const work = vi.fn(() => new Promise<void>((resolve) => (end = resolve)));
  const stop = startPolling(100, work, noFailure);
  await vi.advanceTimersByTimeAsync(500);
  expect(work).toHaveBeenCalledTimes(1);
  const stopped = vi.fn();
  const stopping = stop().then(stopped);
  await vi.advanceTimersByTimeAsync(500);
  expect(stopped).not.toHaveBeenCalled();
  end();
  await stopping;
  expect(work).toHaveBeenCalledTimes(1);
});

it("reports failures and continues", async () => {
  const failed = vi.fn();
  const work = vi.fn().mockRejectedValueOnce(new Error("away")).mockResolvedValue(undefined);
  const stop = startPolling(100, work, failed);
  await vi.advanceTimersByTimeAsync(200);
  expect(failed.mock.calls).toEqual([[new Error("away")]]);
  expect(work).toHaveBeenCalledTimes(2);
  await stop();
});
