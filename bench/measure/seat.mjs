/** @import { Contender, Dataset, Place, Running, Scenario } from "../types.js" @import { Rounds } from "./rounds.mjs" */
import { folderBytes, settleDisk } from "./disk.mjs";
import { cpuSeconds, mainThreadSeconds, residentBytes, signalAll, tree } from "./processes.mjs";

/** Answers that are judged, and that warm up what is measured. */
const JUDGED = 100;
const JUDGED_QUICKLY = 30;
const WARM_UP_SECONDS = 1;
/** Less than a load tool can measure. */
const QUICK_WARM_UP_SECONDS = 0.3;

let tables = 0;

/**
 * @typedef {object} Terms
 * @property {number} clients
 * @property {number} seconds
 * @property {boolean} quick
 * @property {Rounds} rounds where the measurement goes
 */

/** @param {number | undefined} after @param {number | undefined} before */
function difference(after, before) {
  return after === undefined || before === undefined ? undefined : after - before;
}

/** A contender that runs. It rests while others are measured, so that nobody's upkeep disturbs them. */
export class Seat {
  contender;
  #place;
  /** @type {Running} */
  running;
  /** @type {Map<string, import("../types.js").Judgement>} */
  #judged = new Map();

  /** @param {Contender} contender @param {Place} place @param {Running} running */
  constructor(contender, place, running) {
    this.contender = contender;
    this.bytes = folderBytes(place.folder);
    this.#place = place;
    this.running = running;
  }

  /** @param {Contender} contender @param {Place} place */
  static async take(contender, place) {
    const seat = new Seat(contender, place, await contender.start(place));
    seat.#rest();
    return seat;
  }

  async leave() {
    this.#wake();
    await this.running.stop();
  }

  /** Why it can't be asked that, if it can't. @param {Scenario} scenario */
  refuses(scenario) {
    if (scenario.prewarmed && !this.contender.prewarms)
      return "it loads no table before it is asked";
    return this.running.refuses(scenario);
  }

  /**
   * @param {Scenario} scenario
   * @param {Dataset} dataset
   * @param {Terms} terms
   * @returns {Promise<string | undefined>} why it can't be measured, if it can't
   */
  async measure(scenario, dataset, terms) {
    if (scenario.group === "writes") settleDisk();
    this.#wake();
    try {
      if (scenario.measure === "load") await this.#load(scenario, dataset, terms);
      else await this.#time(scenario, dataset, terms);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    } finally {
      this.#rest();
    }
  }

  /** @param {Scenario} scenario @param {Dataset} dataset @param {Terms} terms */
  async #load(scenario, dataset, { clients, seconds, quick, rounds }) {
    const { key, group } = scenario;
    const asks = scenario.asks(dataset);
    let table = /** @type {string} */ (scenario.table);
    const writes = group === "writes";
    if (writes) {
      table = `insert_${++tables}`;
      await this.running.create(table, dataset.sample.file);
    }
    const count = writes ? 1 : quick ? JUDGED_QUICKLY : JUDGED;
    const judgement =
      this.#judged.get(key) ?? (await this.#judge(scenario, dataset, table, asks.slice(0, count)));
    this.#judged.set(key, judgement);
    if (quick) await this.#warmUp(table, asks, clients);
    else if (!writes) await this.running.load(table, asks, clients, WARM_UP_SECONDS);

    const { pid } = this.running;
    const [before, loopBefore] = [cpuSeconds(tree(pid)), mainThreadSeconds(pid)];
    const measured = await this.running.load(table, asks, clients, seconds);
    const pids = tree(pid);
    const [after, loopAfter] = [cpuSeconds(pids), mainThreadSeconds(pid)];
    rounds.add(this.contender.title, {
      ...measured,
      ...judgement,
      cpuSeconds: difference(after, before),
      mainThreadSeconds: difference(loopAfter, loopBefore),
      residentBytes: residentBytes(pids),
    });
  }

  /** @param {string} table @param {readonly import("../types.js").Ask[]} asks @param {number} clients */
  async #warmUp(table, asks, clients) {
    const end = performance.now() + QUICK_WARM_UP_SECONDS * 1000;
    const client = async (_, first) => {
      for (let i = first; performance.now() < end; i += clients) {
        await this.running.answer(table, asks[i % asks.length]);
      }
    };
    await Promise.all(Array.from({ length: clients }, client));
  }

  async #judge(scenario, dataset, table, asks) {
    const answers = [];
    for (const ask of asks) answers.push(await this.running.answer(table, ask));
    return scenario.judge(answers, asks, dataset);
  }

  /** @param {Scenario} scenario @param {Dataset} dataset @param {Terms} terms */
  async #time(scenario, dataset, { rounds }) {
    const { measure, table, prewarmed } = scenario;
    const [ask, ...earlier] = scenario.asks(dataset);
    const isNew = measure === "cold" || measure === "first" || measure === "second";
    if (isNew) await this.running.stop();
    if (isNew && measure !== "cold") {
      this.running = await this.contender.start(this.#place, { prewarmed });
    }
    if (measure === "second") await this.running.answer(table, earlier[0]);
    const before = measure === "cold" ? 0 : cpuSeconds(tree(this.running.pid));
    const begin = performance.now();
    let bytes = measure === "ingest" ? dataset.bytes : undefined;
    const made = `ingest_${++tables}`;
    if (measure === "ingest") await this.running.create(made, dataset.file);
    else if (measure === "download") bytes = (await this.running.download(table)).bytes;
    else {
      if (measure === "cold") this.running = await this.contender.start(this.#place);
      await this.running.answer(table, ask);
    }
    const seconds = (performance.now() - begin) / 1000;
    const pids = tree(this.running.pid);
    const after = cpuSeconds(pids);
    rounds.add(this.contender.title, {
      rate: 1 / seconds,
      requests: 1,
      p50: seconds * 1000,
      p95: seconds * 1000,
      p99: seconds * 1000,
      failures: 0,
      rows: measure === "ingest" || measure === "download" ? dataset.rows : 1,
      seconds,
      bytes,
      cpuSeconds: difference(after, before),
      residentBytes: residentBytes(pids),
    });
    // Its memory is the next one's: see "In used memory" in the README.
    if (measure === "ingest") await this.running.drop?.(made);
  }

  #rest() {
    signalAll(tree(this.running.pid), "SIGSTOP");
  }

  #wake() {
    signalAll(tree(this.running.pid), "SIGCONT");
  }
}
