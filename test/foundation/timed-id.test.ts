import { afterEach, expect, it, vi } from "vitest";
import { firstIdAt, timedId, timeOf } from "../../src/foundation/timed-id.js";

afterEach(() => void vi.useRealTimers());

it("holds the time of the clock, also when the clock was set back", () => {
  vi.useFakeTimers();
  for (const now of [1_700_000_000_000, 1_800_000_000_123, 1_700_000_000_001]) {
    vi.setSystemTime(now);
    const id = timedId();
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(timeOf(id)).toBe(now);
    // As text in byte order, as both databases compare.
    expect(id >= firstIdAt(now)).toBe(true);
    expect(id < firstIdAt(now + 1)).toBe(true);
  }
});

it("differs at each call", () => {
  expect(new Set(Array.from({ length: 1_000 }, timedId)).size).toBe(1_000);
});
