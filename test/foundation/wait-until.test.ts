import { expect, it, vi } from "vitest";
import { waitUntil } from "../../src/foundation/wait-until.js";

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const options = { interval: 5, timeout: 100, timeoutError: () => new Error("too late") };

it("ends with the first check that is true", async () => {
  const isMet = vi.fn().mockResolvedValueOnce(false).mockResolvedValue(true);
  await waitUntil(isMet, options);
  expect(isMet).toHaveBeenCalledTimes(2);
});

it("fails with the given error after the timeout", async () => {
  const started = performance.now();
  await expect(waitUntil(async () => false, options)).rejects.toThrow("too late");
  expect(performance.now() - started).toBeGreaterThanOrEqual(100);
});

it("checks once more after the timeout, as a suspended process must", async () => {
  let isMet = false;
  const check = vi.fn(async () => {
    if (isMet) return true;
    await sleep(150);
    isMet = true;
    return false;
  });
  await waitUntil(check, options);
  expect(check).toHaveBeenCalledTimes(2);
});

it("ends with the reason of an abort before the interval is over", async () => {
  const abort = new AbortController();
  const rare = { ...options, interval: 60_000, signal: abort.signal };
  const waiting = waitUntil(async () => false, rare);
  setTimeout(() => abort.abort(new Error("cancelled")), 10);
  await expect(waiting).rejects.toThrow("cancelled");
});

it("fails with the failure of a check", async () => {
  const check = () => Promise.reject(new Error("dropped"));
  await expect(waitUntil(check, options)).rejects.toThrow("dropped");
});
