import { setTimeout as sleep } from "node:timers/promises";
import { type DemoServer, post } from "./server.js";

/** Characters of the progress bar. */
const WIDTH = 30;

/** An entry of the list of indexes. */
interface Index {
  readonly index_name: string;
  readonly status: string;
  /** JSON. */
  readonly index_details?: string;
}

/** Starts index builds and shows their progress until all are ready. It polls the list of indexes, as a client does. */
export async function buildIndexes(
  server: DemoServer,
  table: string,
  requests: readonly object[],
): Promise<void> {
  for (const request of requests) await post(server, `/v1/table/${table}/create_index`, request);
  for (;;) {
    const { indexes }: { indexes: Index[] } = await post(server, `/v1/table/${table}/index/list`);
    const failed = indexes.find((index) => index.status === "Failed");
    if (failed) throw new Error(`${failed.index_name} failed: ${failed.index_details}`);
    const ready = indexes.filter((index) => index.status === "Ready");
    draw(indexes, ready.length, requests.length);
    if (ready.length === requests.length) break;
    await sleep(100);
  }
  if (process.stdout.isTTY) process.stdout.write("\n");
}

function draw(indexes: readonly Index[], ready: number, total: number): void {
  const done = ready === total;
  if (!process.stdout.isTTY) {
    if (done) console.log(`  built ${indexes.map((index) => index.index_name).join(", ")}`);
    return;
  }
  const building = indexes.find((index) => index.status === "Building");
  const filled = Math.round((WIDTH * (ready + progressOf(building))) / total);
  const bar = "=".repeat(filled).padEnd(WIDTH);
  const status = building ? building.index_name : done ? "all ready" : "waiting";
  process.stdout.write(`\x1b[2K\r  [${bar}] ${ready} of ${total} indexes: ${status}`);
}

/** Progress of a build, 0 to 1. */
function progressOf(building: Index | undefined): number {
  const { completed, total } = JSON.parse(building?.index_details ?? "{}").progress ?? {};
  return total ? Math.min(1, completed / total) : 0;
}
