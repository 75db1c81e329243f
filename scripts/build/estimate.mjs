/**
 * Estimates the remaining time of a compilation from the recorded time of each crate, corrected by the pace of
 * this build.
 */

import { availableParallelism } from "node:os";

/** Milliseconds until the measured pace has the same weight as the recorded one: a start predicts little. */
const TRUST_MS = 60_000;
/** The greatest share of a running crate that counts as done. */
const MAX_RUNNING_SHARE = 0.95;

/**
 * @typedef {{
 *   crates: Record<string, number>,
 *   rest: number,
 *   parallel: number,
 *   cores: number,
 *   serial: string[],
 * }} Weights `crates`: seconds of each slow crate; `rest`: of every other one; `parallel`: mean number of crates
 * that compiled concurrently on `cores`; `serial`: the last crates, which compile one after another
 */

export class Estimate {
  /** @type {Map<string, number>} recorded seconds of the crates that are not compiled yet */
  #pending;
  /** @type {Map<string, number>} start time of each crate that is compiling */
  #running = new Map();
  /** @type {Set<string>} fast crates that have started: cargo may list them too briefly to be noticed */
  #startedFast = new Set();
  #weights;
  #total = 0;
  /** Recorded seconds of the crates that this build has compiled. */
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

  /** Removes a crate that an earlier build compiled. */
  fresh(name) {
    this.#total -= this.#pending.get(name) ?? 0;
    this.#pending.delete(name);
  }

  /** Notes that cargo starts the first unit of a crate. */
  begin(name) {
    if (this.#pending.has(name) && !(name in this.#weights.crates)) this.#startedFast.add(name);
  }

  /**
   * Sets the units that cargo compiles now, from its progress line. `name(build)` is the build script of a crate,
   * which compiles before the crate.
   *
   * @param {readonly string[]} active
   */
  compiling(active, now = Date.now()) {
    const items = active.map((item) => item.trim());
    const libraries = new Set(items.filter((item) => /^[\w-]+$/.test(item)));
    const crates = new Set(items.map((item) => item.split("(", 1)[0]));
    for (const name of this.#running.keys()) if (!libraries.has(name)) this.#finish(name);
    for (const name of this.#startedFast) if (!crates.has(name)) this.#finish(name);
    for (const name of libraries) {
      if (this.#pending.has(name) && !this.#running.has(name)) this.#running.set(name, now);
    }
  }

  #finish(name) {
    this.#done += this.#pending.get(name) ?? 0;
    this.#pending.delete(name);
    this.#running.delete(name);
    this.#startedFast.delete(name);
  }

  /** The share of this build that is done, 0 to 1. */
  share(now = Date.now()) {
    if (this.#total <= 0) return 1;
    return Math.min(1, (this.#done + this.#doneOfRunning(now)) / this.#total);
  }

  /** Whether the measured pace has more weight than the recorded one. */
  isMeasured(now = Date.now()) {
    return now - this.#started > TRUST_MS;
  }

  /** The remaining milliseconds. */
  left(now = Date.now()) {
    const { parallel, cores, serial } = this.#weights;
    const expected = parallel * (availableParallelism() / cores);
    const done = this.#done + this.#doneOfRunning(now);
    // `pace`: recorded seconds per second. `speed`: pace relative to the recorded build.
    const pace = (done * 1000 + expected * TRUST_MS) / (now - this.#started + TRUST_MS);
    const speed = pace / expected;
    let left = 0;
    for (const [name, seconds] of this.#pending) {
      const rest = seconds - this.#doneOf(name, now);
      left += serial.includes(name) ? rest / speed : rest / pace;
    }
    return left * 1000;
  }

  /** Recorded seconds of the finished parts of the crates that are compiling. */
  #doneOfRunning(now) {
    let done = 0;
    for (const name of this.#running.keys()) done += this.#doneOf(name, now);
    return done;
  }

  #doneOf(name, now) {
    const since = this.#running.get(name);
    if (since === undefined) return 0;
    return Math.min((now - since) / 1000, MAX_RUNNING_SHARE * (this.#pending.get(name) ?? 0));
  }
}

/**
 * Formats an estimated time in minutes.
 *
 * @param {number} ms
 */
export function roughly(ms) {
  const minutes = ms / 60_000;
  if (minutes < 1) return "less than a minute";
  return `about ${minutes < 10 ? Math.round(minutes) : Math.round(minutes / 5) * 5} min`;
}
