import { expect, it, vi } from "vitest";
import { withTask } from "../../src/jobs/task.js";

it("work of a job that is already cancelled does not begin", async () => {
  const work = vi.fn(async () => 1);
  await expect(withTask(AbortSignal.abort(new Error("cancelled")), work)).rejects.toThrow(
    "cancelled",
  );
  expect(work).not.toHaveBeenCalled();
  expect(await withTask(new AbortController().signal, work)).toBe(1);
});
