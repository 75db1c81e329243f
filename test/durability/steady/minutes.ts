import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Server } from "../../harness/server.js";

/** The resources of a server and its table at one moment. */
interface Sample {
  /** Bytes in the root. */
  disk: number;
  fragments: number;
  /** Resident memory, bytes. */
  rss: number;
}

/** The resources of one minute; varying values are the mean of several samples. */
export interface Minute extends Sample {
  /** Median and 95th percentile of the query durations, ms. */
  p50: number;
  p95: number;
  queries: number;
}

/** Collects query durations and groups them by minute. */
export class Minutes {
  readonly all: Minute[] = [];
  #times: number[] = [];
  #looks: Sample[] = [];

  add(ms: number): void {
    this.#times.push(ms);
  }

  /** Samples the resources of a server and its table `t`. */
  async sample(server: Server): Promise<void> {
    const { fragment_stats } = await server.client.ok("/v1/table/t/stats");
    const fragments = fragment_stats.num_fragments;
    this.#looks.push({ disk: size(server.root), fragments, rss: server.rss() });
  }

  /** Ends a minute with at least one sample. */
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
   * The values whose mean in the last `window` minutes exceeds 1.3 times the mean in the first
   * `window` minutes after `warmUp`.
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
    // A listed file may be removed before it is read.
    bytes += statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0;
  }
  return bytes;
}
