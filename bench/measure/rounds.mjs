/** @import { Judgement, LoadResult, Result, Scenario } from "../types.js" */
import { median, medianOf } from "./statistics.mjs";

/**
 * The measurement of one contender in one round.
 *
 * @typedef {LoadResult & Judgement & {
 *   seconds?: number,
 *   bytes?: number | undefined,
 *   cpuSeconds: number | undefined,
 *   mainThreadSeconds?: number | undefined,
 *   residentBytes: number | undefined,
 * }} Round
 */

/** The measurements of one scenario, by contender and round. */
export class Rounds {
  #scenario;
  #clients;
  /** @type {Map<string, Round[]>} */
  #rounds = new Map();

  /** @param {Scenario} scenario @param {number} clients */
  constructor(scenario, clients) {
    this.#scenario = scenario;
    this.#clients = clients;
  }

  /** @param {string} contender @param {Round} round */
  add(contender, round) {
    this.#rounds.set(contender, [...(this.#rounds.get(contender) ?? []), round]);
  }

  /** The median of each figure over the rounds. @returns {Result[]} */
  results() {
    return [...this.#rounds].map(([contender, rounds]) => this.#result(contender, rounds));
  }

  /** @param {string} contender @param {readonly Round[]} rounds @returns {Result} */
  #result(contender, rounds) {
    const { key, title, group } = this.#scenario;
    const of = (name) => median(rounds.map((round) => /** @type {number} */ (round[name])));
    const rates = rounds.map(({ rate }) => rate);
    const [{ rows, recall }] = /** @type {[Round]} */ (/** @type {unknown} */ (rounds));
    const optional = {
      recall,
      cpuSecondsPer1000: medianOf(
        rounds.map(({ cpuSeconds, requests }) =>
          cpuSeconds === undefined ? undefined : (cpuSeconds / requests) * 1000,
        ),
      ),
      residentBytes: medianOf(rounds.map((round) => round.residentBytes)),
      mainThreadCpu: medianOf(rounds.map((round) => share(round.mainThreadSeconds, round))),
      loaderCpu: medianOf(rounds.map((round) => share(round.loaderCpuSeconds, round))),
      seconds: medianOf(rounds.map((round) => round.seconds)),
      bytes: medianOf(rounds.map((round) => round.bytes)),
    };
    return {
      scenario: key,
      title,
      group,
      contender,
      clients: this.#clients,
      rounds: rounds.length,
      rate: of("rate"),
      rates: [Math.min(...rates), Math.max(...rates)],
      p50: of("p50"),
      p95: of("p95"),
      p99: of("p99"),
      failures: rounds.reduce((sum, { failures }) => sum + failures, 0),
      rows,
      ...present(optional),
    };
  }
}

/**
 * Processor time as a share of one core.
 *
 * @param {number | undefined} seconds of processor time
 * @param {Round} round
 */
function share(seconds, { requests, rate }) {
  return seconds === undefined ? undefined : seconds / (requests / rate);
}

/**
 * Removes the undefined members.
 *
 * @template {Record<string, number | undefined>} Members
 * @param {Members} members
 * @returns {{ [Name in keyof Members]?: number }}
 */
function present(members) {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return /** @type {{ [Name in keyof Members]?: number }} */ (Object.fromEntries(entries));
}
