import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const MODULE = JSON.stringify(
  new URL("../../build/threads/young-generation.js", import.meta.url).href,
);

/** V8's initial size of the young generation in bytes: two semi-spaces of a megabyte each. */
const FIRST = 2 ** 21;

/** Allocates objects until the young generation has grown, and prints its size in bytes. */
const script = (threads: number, ours: boolean) => `
  import { once } from "node:events";
  import { Worker } from "node:worker_threads";
  import { getHeapSpaceStatistics } from "node:v8";
  const load = ${ours ? `"import(" + JSON.stringify(${MODULE}) + ")"` : '""'};
  ${ours ? `await import(${MODULE});` : ""}
  for (let i = 0; i < ${threads}; i++) await once(new Worker(load, { eval: true }), "exit");
  const size = () => getHeapSpaceStatistics().find((space) => space.space_name === "new_space").space_size;
  const kept = [];
  for (let i = 0; i < 10_000 && size() <= ${FIRST}; i++) for (let j = 0; j < 1000; j++) kept[(i * 1000 + j) % 100_000] = { j };
  console.log(size());
`;

it("the young generation has its full size at once, also after other threads have started", async () => {
  const grown = async (threads: number, ours: boolean): Promise<number> => {
    // With little memory V8 chooses less.
    const most = "--max-semi-space-size=16";
    const args = [most, "--input-type=module", "--eval", script(threads, ours)];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    return Number(stdout);
  };
  const usual = await grown(0, false);
  const alone = await grown(0, true);
  expect(alone).toBeGreaterThan(2 * usual);
  expect(await grown(2, true)).toBe(alone);
});
