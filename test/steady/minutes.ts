import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Server } from "../harness/server.js";

/** What was seen in one minute. */
export interface Minute {
  /** Median and 95th percentile of the queries' times, ms. */
  p50: number;
  p95: number;
  queries: number;
  /** Bytes of the root. */
  disk: number;
  fragments: number;
  /** Resident memory, bytes. */
  rss: number;
}

/** Collects the times of queries and cuts them into minutes. */
export class Minutes {
  readonly all: Minute[] = [];
  #times: number[] = [];

  add(ms: number): void {
    this.#times.push(ms);
  }

  /** Ends a minute. */
  async cut(server: Server): Promise<Minute> {
    const times = this.#times.sort((a, b) => a - b);
    this.#times = [];
    const { fragment_stats } = await server.client.ok("/v1/table/t/stats");
    const minute = {
      p50: at(times, 0.5),
      p95: at(times, 0.95),
      queries: times.length,
      disk: size(server.root),
      fragments: fragment_stats.num_fragments,
      rss: server.rss(),
    };
    this.all.push(minute);
    return minute;
  }

  /**
   * What is more than 1.3 times as much in the last `window` minutes as in the first after `warmUp`:
   * the mean of each number.
   */
  grown(warmUp: number, window: number): string[] {
    const first = this.all.slice(warmUp, warmUp + window);
    const last = this.all.slice(-window);
    const mean = (minutes: Minute[], name: keyof Minute) =>
      minutes.reduce((sum, minute) => sum + minute[name], 0) / minutes.length;
    const names = ["p50", "p95", "disk", "fragments", "rss"] as const;
    return names.flatMap((name) => {
      const [before, after] = [mean(first, name), mean(last, name)];
      return after > before * 1.3
        ? [`${name}: ${before.toFixed(1)}, then ${after.toFixed(1)}`]
        : [];
    });
  }
}

const at = (sorted: number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;

function size(path: string): number {
  let bytes = 0;
  for (const entry of readdirSync(path, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    // What is listed may be cleaned up meanwhile.
    bytes += statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0;
  }
  return bytes;
}
