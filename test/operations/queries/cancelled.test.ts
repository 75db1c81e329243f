import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { setupServer } from "../../harness/setup-server.js";
import { waitFor } from "../../harness/wait-for.js";

const joust = setupServer();
const DIMENSION = 64;

/** CPU time of the server so far, ms (Linux counts in steps of 10). */
function processorTime(): number {
  const stat = readFileSync(`/proc/${joust.server.pid}/stat`, "utf8").split(") ")[1] ?? "";
  const [user, system] = stat.split(" ").slice(11, 13);
  return (Number(user) + Number(system)) * 10;
}

// An unoptimised engine on a busy machine computes the first query for more than the usual 30 s.
it.skipIf(process.platform !== "linux")(
  "a query stops computing when its client disconnects",
  { timeout: 120_000 },
  async () => {
    const { client } = joust;
    await client.createTable("t", items(30_000, { dimension: DIMENSION }));
    const body = {
      k: 10,
      vector: { multi_vector: Array(8000).fill(Array(DIMENSION).fill(0.1)) },
      columns: { column_names: ["id"] },
    };

    const before = processorTime();
    expect((await client.post("/v1/table/t/query", body)).status).toBe(200);
    const whole = processorTime() - before;
    // Enough work to make the difference visible.
    expect(whole).toBeGreaterThan(1000);

    const abort = new AbortController();
    const start = processorTime();
    const aborted = client.request("/v1/table/t/query", { body, signal: abort.signal });
    await Promise.all([
      expect(aborted).rejects.toThrow(/abort/),
      waitFor("the query runs", () => processorTime() - start > whole / 10).then(() =>
        abort.abort(),
      ),
    ]);
    await waitFor("the server is idle", async () => {
      const now = processorTime();
      await sleep(200);
      return processorTime() - now <= 20;
    });
    expect(processorTime() - start).toBeLessThan(whole / 2);
  },
);
