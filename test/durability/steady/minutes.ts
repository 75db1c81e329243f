import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Server } from "../../harness/server.js";

/** What a server and its table take at one moment. */
interface Sample {
  /** Bytes of the root. */
  disk: number;
  fragments: number;
  /** Resident memory, bytes. */
  rss: number;
}

/** What was seen in one minute; of what goes up and down, the mean of some looks. */
export interface Minute extends Sample {
  /** Median and 95th percentile of the queries' times, ms. */
  p50: number;
  p95: number;
  queries: number;
}

/** Collects the times of queries and cuts them into minutes. */
export class Minutes {
  readonly all: Minute[] = [];
  #times: number[] = [];
  #looks: Sample[] = [];

  add(ms: number): void {
    this.#times.push(ms);
  }

  /** Looks at what a server and its table `t` take. */
  async sample(server: Server): Promise<void> {
    const { fragment_stats } = await server.client.ok("/v1/table/t/stats");
    const fragments = fragment_stats.num_fragments;
    this.#looks.push({ disk: size(server.root), fragments, rss: server.rss() });
  }

  /** Ends a minute in which there was a look. */
  cut(): Minute {
    const times = this.#times.sort((a, b) => a - b);
    const looks = this.#looks;
    [this.#times, this.#looks] = [[], []];
    const minute = {
      p50: at(times, 0.5),
      p95: at(times, 0.95),
      queries: times.length,
      disk: mean(looks, "disk"),
      fragments: mean(looks, "fragments"),
      rss: mean(looks, "rss"),
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
    const names = ["p50", "p95", "disk", "fragments", "rss"] as const;
    return names.flatMap((name) => {
      const [before, after] = [mean(first, name), mean(last, name)];
      return after > before * 1.3
        ? [`${name}: ${before.toFixed(1)}, then ${after.toFixed(1)}`]
        : [];
    });
  }
}

function mean<Name extends string>(of: readonly Record<Name, number>[], name: Name): number {
  return of.reduce((sum, one) => sum + one[name], 0) / of.length;
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
