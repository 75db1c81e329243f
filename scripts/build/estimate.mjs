/**
 * How long a compilation still takes: from what each crate took in a recorded build, corrected by the pace of
 * this one.
 */

import { availableParallelism } from "node:os";

/** For so long the recorded pace counts as much as the own one, ms: a start says little about the rest. */
const TRUST_MS = 60_000;
/** A crate that takes longer than recorded is nearly done, not done. */
const NEARLY = 0.95;

/**
 * @typedef {{
 *   crates: Record<string, number>,
 *   rest: number,
 *   parallel: number,
 *   cores: number,
 *   serial: string[],
 * }} Weights seconds of each slow crate and of every other one; how many crates compiled at a time on how many
 * cores; the crates at the end, which compile one after another
 */

export class Estimate {
  /** @type {Map<string, number>} crates that are not compiled yet, with their recorded seconds */
  #pending;
  /** @type {Map<string, number>} when each crate that is compiling now began */
  #running = new Map();
  /** @type {Set<string>} quick crates that have begun: cargo may list them for too short a time to be seen */
  #begun = new Set();
  #weights;
  #total = 0;
  /** Recorded seconds of what this build has compiled; what was there before does not count. */
  #done = 0;
  #started;

  /**
   * @param {Weights} weights
   * @param {Iterable<string>} names the crates of this build
   */
  constructor(weights, names, now = Date.now()) {
    const { crates, rest } = weights;
    this.#weights = weights;
    this.#pending = new Map([...names].map((name) => [name, crates[name] ?? rest]));
    for (const seconds of this.#pending.values()) this.#total += seconds;
    this.#started = now;
  }

  /** A crate that an earlier build has compiled. */
  fresh(name) {
    this.#total -= this.#pending.get(name) ?? 0;
    this.#pending.delete(name);
  }

  /** A crate whose first unit cargo starts. */
  begin(name) {
    if (this.#pending.has(name) && !(name in this.#weights.crates)) this.#begun.add(name);
  }

  /**
   * What cargo compiles now, as its progress line lists it. `name(build)` is the build script of a crate, which
   * is compiled afterwards.
   *
   * @param {readonly string[]} active
   */
  compiling(active, now = Date.now()) {
    const items = active.map((item) => item.trim());
    const libraries = new Set(items.filter((item) => /^[\w-]+$/.test(item)));
    const crates = new Set(items.map((item) => item.split("(", 1)[0]));
    for (const name of this.#running.keys()) if (!libraries.has(name)) this.#finish(name);
    for (const name of this.#begun) if (!crates.has(name)) this.#finish(name);
    for (const name of libraries) {
      if (this.#pending.has(name) && !this.#running.has(name)) this.#running.set(name, now);
    }
  }

  #finish(name) {
    this.#done += this.#pending.get(name) ?? 0;
    this.#pending.delete(name);
    this.#running.delete(name);
    this.#begun.delete(name);
  }

  /** How much of the work of this build is done, 0 to 1. */
  share(now = Date.now()) {
    if (this.#total <= 0) return 1;
    return Math.min(1, (this.#done + this.#doneOfRunning(now)) / this.#total);
  }

  /** Whether the pace of this build counts for more than the recorded one. */
  isMeasured(now = Date.now()) {
    return now - this.#started > TRUST_MS;
  }

  /** Milliseconds that are left. */
  left(now = Date.now()) {
    const { parallel, cores, serial } = this.#weights;
    const expected = parallel * (availableParallelism() / cores);
    const done = this.#done + this.#doneOfRunning(now);
    // Recorded seconds for each second, and how much faster that is than the recorded build.
    const pace = (done * 1000 + expected * TRUST_MS) / (now - this.#started + TRUST_MS);
    const speed = pace / expected;
    let left = 0;
    for (const [name, seconds] of this.#pending) {
      const rest = seconds - this.#doneOf(name, now);
      left += serial.includes(name) ? rest / speed : rest / pace;
    }
    return left * 1000;
  }

  /** Recorded seconds of the crates that are compiling now, of as much of them as should be done. */
  #doneOfRunning(now) {
    let done = 0;
    for (const name of this.#running.keys()) done += this.#doneOf(name, now);
    return done;
  }

  #doneOf(name, now) {
    const since = this.#running.get(name);
    if (since === undefined) return 0;
    return Math.min((now - since) / 1000, NEARLY * (this.#pending.get(name) ?? 0));
  }
}

/**
 * A time in minutes: an estimate is not exact to the second.
 *
 * @param {number} ms
 */
export function roughly(ms) {
  const minutes = ms / 60_000;
  if (minutes < 1) return "less than a minute";
  return `about ${minutes < 10 ? Math.round(minutes) : Math.round(minutes / 5) * 5} min`;
}
