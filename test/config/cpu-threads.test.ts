import { existsSync, readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { describe, expect, it } from "vitest";
import { stream, type } from "../harness/arrow.js";
import { waitForIndex } from "../harness/indexes.js";
import { type Server, startServer } from "../harness/server.js";

/** Compute threads of Lance; an additional thread distributes the work. */
function computing({ pid }: Server): number {
  const tasks = `/proc/${pid}/task`;
  const names = readdirSync(tasks).map((task) => readFileSync(`${tasks}/${task}/comm`, "utf8"));
  return names.filter((name) => name.startsWith("lance-cpu")).length - 1;
}

/** Searches an index with many concurrent requests. */
async function keepBusy({ client }: Server): Promise<void> {
  const vectors = Array.from({ length: 4_000 }, (_, row) => [row % 61, row % 67, row % 71, row]);
  await client.createTable("points", stream({ v: [type.vector(4), vectors] }));
  const spec = { column: "v", index_type: "IVF_FLAT", num_partitions: 16 };
  await client.ok("/v1/table/points/create_index", spec);
  await waitForIndex(client, "points", "v_idx");
  const query = {
    vector: { single_vector: [1, 2, 3, 4] },
    nprobes: 16,
    columns: { column_names: [] },
  };
  for (let round = 0; round < 20; round++) {
    await Promise.all(Array.from({ length: 32 }, () => client.query("points", query)));
  }
}

describe.runIf(existsSync("/proc/self/task"))("the number of compute threads", () => {
  it.each([
    [[], {}, availableParallelism()],
    [["--cpu-threads", "3"], {}, 3],
    [[], { LANCE_CPU_THREADS: "4" }, 4],
  ])("with arguments %j and environment %j is %i", async (args, env, threads) => {
    const server = await startServer({ args, env });
    try {
      await keepBusy(server);
      await expect.poll(() => computing(server)).toBe(threads);
    } finally {
      await server.stop();
    }
  });
});
