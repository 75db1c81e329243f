/** @import { Judgement, Load, Result, Scenario } from "../types.js" */
import { median, medianOf } from "./statistics.mjs";

/**
 * One round of one contender.
 *
 * @typedef {Load & Judgement & {
 *   seconds?: number,
 *   bytes?: number | undefined,
 *   cpuSeconds: number | undefined,
 *   mainThreadSeconds?: number | undefined,
 *   residentBytes: number | undefined,
 * }} Round
 */

/** What the contenders of one scenario were measured at, round by round. */
export class Rounds {
  #scenario;
  #clients;
  /** @type {Map<string, Round[]>} */
  #of = new Map();

  /** @param {Scenario} scenario @param {number} clients */
  constructor(scenario, clients) {
    this.#scenario = scenario;
    this.#clients = clients;
  }

  /** @param {string} contender @param {Round} round */
  add(contender, round) {
    this.#of.set(contender, [...(this.#of.get(contender) ?? []), round]);
  }

  /** The middle round of each figure. @returns {Result[]} */
  results() {
    return [...this.#of].map(([contender, rounds]) => this.#result(contender, rounds));
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
 * Of one core.
 *
 * @param {number | undefined} seconds of processor time
 * @param {Round} round
 */
function share(seconds, { requests, rate }) {
  return seconds === undefined ? undefined : seconds / (requests / rate);
}

/**
 * Without the members that are undefined.
 *
 * @template {Record<string, number | undefined>} Members
 * @param {Members} members
 * @returns {{ [Name in keyof Members]?: number }}
 */
function present(members) {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return /** @type {{ [Name in keyof Members]?: number }} */ (Object.fromEntries(entries));
}
