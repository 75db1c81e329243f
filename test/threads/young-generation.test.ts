import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const MODULE = JSON.stringify(
  new URL("../../dist/threads/young-generation.js", import.meta.url).href,
);

/** Makes garbage, and says what the space for new objects has grown to, bytes. */
const script = (threads: number, small: boolean) => `
  import { once } from "node:events";
  import { Worker } from "node:worker_threads";
  import { getHeapSpaceStatistics } from "node:v8";
  const load = ${small ? `"import(" + JSON.stringify(${MODULE}) + ")"` : '""'};
  ${small ? `await import(${MODULE});` : ""}
  for (let i = 0; i < ${threads}; i++) await once(new Worker(load, { eval: true }), "exit");
  const kept = [];
  for (let i = 0; i < 5_000_000; i++) kept[i % 1000] = { i };
  console.log(getHeapSpaceStatistics().find((space) => space.space_name === "new_space").space_size);
`;

it("keeps the space for new objects small, also after other threads have begun", async () => {
  const grown = async (threads: number, small: boolean): Promise<number> => {
    const args = ["--input-type=module", "--eval", script(threads, small)];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    return Number(stdout);
  };
  const usual = await grown(0, false);
  const alone = await grown(0, true);
  expect(alone).toBeLessThan(usual);
  expect(await grown(2, true)).toBe(alone);
});
