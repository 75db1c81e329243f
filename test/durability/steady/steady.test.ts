import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { waitForIndex } from "../../harness/indexes.js";
import { startServer } from "../../harness/server.js";
import { type Content, ROWS, rows, runLoad } from "./load.js";
import { Minutes } from "./minutes.js";

/** `npm run test:steady` sets 30; a few seconds check in every run that the test itself works. */
const minutes = Number(process.env.JOUST_TEST_STEADY_MINUTES ?? 0.1);
const MINUTE = 60_000;
/** Samples per minute; maintenance makes the values vary. */
const SAMPLES_PER_MINUTE = 12;
const MiB = 1024 * 1024;
/** Minutes until caches are full and the first old versions are removed. */
const warmUp = Math.min(3, Math.floor(minutes / 4));
const window = Math.min(5, Math.floor((minutes - warmUp) / 2));

test(`a table under writes and searches for ${minutes} minutes keeps its size and latency`, {
  timeout: (minutes + 2) * MINUTE,
}, async () => {
  // Versions are kept for a minute and caches fill early, so that the samples show the steady state.
  const server = await startServer({ args: ["--keep-versions", "1m", "--memory", "1GiB"] });
  onTestFinished(async () => {
    await server.stop();
  });
  const { client } = server;
  await client.createTable("t", rows(0, ROWS));
  const index = async (name: string, body: object, kind = "create_index") => {
    await client.ok(`/v1/table/t/${kind}`, { ...body, name });
    await waitForIndex(client, "t", name);
  };
  await index("by_id", { column: "id", index_type: "BTREE" }, "create_scalar_index");
  await index("by_text", { column: "body", index_type: "FTS" });
  await index("by_vector", { column: "vector", index_type: "IVF_FLAT", num_partitions: 16 });

  const seen = new Minutes();
  const content: Content = { first: 0, end: ROWS, updates: 0, conflicts: 0 };
  let stopped = false;
  const load = runLoad({
    client,
    content,
    stopped: () => stopped,
    onQuery: (_kind, ms) => seen.add(ms),
  });
  for (let minute = 1; minute <= Math.max(1, minutes); minute++) {
    for (let look = 0; look < SAMPLES_PER_MINUTE; look++) {
      await Promise.race([sleep((Math.min(minutes, 1) * MINUTE) / SAMPLES_PER_MINUTE), load]);
      await seen.sample(server);
    }
    const { p50, p95, queries, disk, fragments, rss } = seen.cut();
    console.log(
      `minute ${minute}: ${queries} queries, p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms; ` +
        `${Math.round(disk / MiB)} MiB on disk, ${Math.round(fragments)} fragments, ${Math.round(rss / MiB)} MiB resident`,
    );
  }
  stopped = true;
  await load;
  console.log(`${content.updates} updates, ${content.conflicts} conflicts`);
  expect(await client.count("t")).toBe(content.end - content.first);
  const result = await client.query("t", { k: 1, vector: {}, filter: `id = ${content.end - 1}` });
  expect(result.numRows).toBe(1);
  if (window === 0) return;
  const grown = seen.grown(warmUp, window);
  console.log(grown.length === 0 ? "flat" : `not flat: ${grown.join("; ")}`);
  expect(grown).toEqual([]);
});
