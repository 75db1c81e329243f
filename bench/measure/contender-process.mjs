/** @import { Contender, Dataset, Workspace, RunningContender, Scenario } from "../types.js" @import { Rounds } from "./rounds.mjs" */
import { folderBytes, syncDisk } from "./disk.mjs";
import {
  cpuSeconds,
  mainThreadSeconds,
  processTree,
  residentBytes,
  signalAll,
} from "./processes.mjs";

/** Answers that are judged. They also warm up the contender. */
const JUDGED = 100;
const JUDGED_QUICKLY = 30;
const WARM_UP_SECONDS = 1;
/** Shorter than the shortest run of a load generator. */
const QUICK_WARM_UP_SECONDS = 0.3;

/** Makes the names of new tables unique. */
let tables = 0;

/**
 * @typedef {object} MeasureOptions
 * @property {number} clients
 * @property {number} seconds
 * @property {boolean} quick
 * @property {Rounds} rounds receives the measurement
 */

/** A running contender. It is suspended while others are measured, so that its background work does not disturb them. */
export class ContenderProcess {
  contender;
  #workspace;
  /** @type {RunningContender} */
  running;
  /** @type {Map<string, import("../types.js").Judgement>} */
  #judged = new Map();

  /** @param {Contender} contender @param {Workspace} workspace @param {RunningContender} running */
  constructor(contender, workspace, running) {
    this.contender = contender;
    this.bytes = folderBytes(workspace.folder);
    this.#workspace = workspace;
    this.running = running;
  }

  /** @param {Contender} contender @param {Workspace} workspace */
  static async start(contender, workspace) {
    const started = new ContenderProcess(contender, workspace, await contender.start(workspace));
    started.#suspend();
    return started;
  }

  async stop() {
    this.#resume();
    await this.running.stop();
  }

  /** The reason why it does not support a scenario; undefined if it does. @param {Scenario} scenario */
  checkSupported(scenario) {
    if (scenario.prewarmed && !this.contender.prewarms)
      return "it loads no table before the first request";
    return this.running.checkSupported(scenario);
  }

  /**
   * @param {Scenario} scenario
   * @param {Dataset} dataset
   * @param {MeasureOptions} options
   * @returns {Promise<string | undefined>} the reason why the measurement failed
   */
  async measure(scenario, dataset, options) {
    if (scenario.group === "writes") syncDisk();
    this.#resume();
    try {
      if (scenario.measure === "load") await this.#load(scenario, dataset, options);
      else await this.#time(scenario, dataset, options);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    } finally {
      this.#suspend();
    }
  }

  /** @param {Scenario} scenario @param {Dataset} dataset @param {MeasureOptions} options */
  async #load(scenario, dataset, { clients, seconds, quick, rounds }) {
    const { key, group } = scenario;
    const operations = scenario.operations(dataset);
    let table = /** @type {string} */ (scenario.table);
    const writes = group === "writes";
    if (writes) {
      table = `insert_${++tables}`;
      await this.running.create(table, dataset.sample.file);
    }
    const count = writes ? 1 : quick ? JUDGED_QUICKLY : JUDGED;
    const judgement =
      this.#judged.get(key) ??
      (await this.#judge(scenario, dataset, table, operations.slice(0, count)));
    this.#judged.set(key, judgement);
    if (quick) await this.#warmUp(table, operations, clients);
    else if (!writes) await this.running.load(table, operations, clients, WARM_UP_SECONDS);

    const { pid } = this.running;
    const [before, loopBefore] = [cpuSeconds(processTree(pid)), mainThreadSeconds(pid)];
    const others = this.#loadBeside(scenario, table, seconds);
    const measured = await this.running.load(table, operations, clients, seconds);
    await others;
    const pids = processTree(pid);
    const [after, loopAfter] = [cpuSeconds(pids), mainThreadSeconds(pid)];
    rounds.add(this.contender.title, {
      ...measured,
      ...judgement,
      cpuSeconds: difference(after, before),
      mainThreadSeconds: difference(loopAfter, loopBefore),
      residentBytes: residentBytes(pids),
    });
  }

  /**
   * The load of the other clients of a scenario.
   *
   * @param {Scenario} scenario @param {string} table @param {number} seconds
   * @throws if one of their requests failed
   */
  async #loadBeside({ beside }, table, seconds) {
    if (!beside) return;
    const { failures } = await this.running.load(
      table,
      [beside.operation],
      beside.clients,
      seconds,
    );
    if (failures > 0) throw new Error(`${failures} requests of the other clients failed`);
  }

  /** @param {string} table @param {readonly import("../types.js").Operation[]} operations @param {number} clients */
  async #warmUp(table, operations, clients) {
    const end = performance.now() + QUICK_WARM_UP_SECONDS * 1000;
    const client = async (_, first) => {
      for (let i = first; performance.now() < end; i += clients) {
        await this.running.answer(table, operations[i % operations.length]);
      }
    };
    await Promise.all(Array.from({ length: clients }, client));
  }

  async #judge(scenario, dataset, table, operations) {
    const answers = [];
    for (const operation of operations) answers.push(await this.running.answer(table, operation));
    if (scenario.beside) {
      const { rows } = await this.running.answer(table, scenario.beside.operation);
      if (rows > 0) throw new Error(`${rows} rows for the filter that matches none`);
    }
    return scenario.judge(answers, operations, dataset);
  }

  /** @param {Scenario} scenario @param {Dataset} dataset @param {MeasureOptions} options */
  async #time(scenario, dataset, { rounds }) {
    const { measure, table, prewarmed } = scenario;
    const [operation, ...earlier] = scenario.operations(dataset);
    let judgement = await this.#judgeResult(scenario, dataset, operation);
    const isNew = measure === "cold" || measure === "first" || measure === "second";
    if (isNew) await this.running.stop();
    if (isNew && measure !== "cold") {
      this.running = await this.contender.start(this.#workspace, { prewarmed });
    }
    if (measure === "second") await this.running.answer(table, earlier[0]);
    const column = `filled_${++tables}`;
    if (measure === "function") await this.running.declareFunction?.(table, column);
    if (measure === "view") await this.running.changeRows?.(table);
    const before = measure === "cold" ? 0 : cpuSeconds(processTree(this.running.pid));
    const begin = performance.now();
    let bytes = measure === "ingest" ? dataset.bytes : undefined;
    const ingested = `ingest_${++tables}`;
    const cloned = `clone_${++tables}`;
    if (measure === "ingest") await this.running.create(ingested, dataset.file);
    else if (measure === "download") bytes = (await this.running.download(table)).bytes;
    else if (measure === "function") {
      const rows = (await this.running.fillColumn?.(table, column)) ?? 0;
      judgement = scenario.judge([{ rows, ids: [] }], [operation], dataset);
    } else if (measure === "view") {
      const rows = (await this.running.refreshView?.(table)) ?? 0;
      judgement = scenario.judge([{ rows, ids: [] }], [operation], dataset);
    } else if (measure === "clone") {
      await this.running.cloneTable?.(table, cloned);
    } else if (measure === "result") {
      bytes = (await this.running.result?.(table, operation, { checked: false }))?.bytes;
    } else {
      if (measure === "cold") this.running = await this.contender.start(this.#workspace);
      await this.running.answer(table, operation);
    }
    const seconds = (performance.now() - begin) / 1000;
    const pids = processTree(this.running.pid);
    const after = cpuSeconds(pids);
    if (measure === "clone") judgement = await this.#judge(scenario, dataset, cloned, [operation]);
    rounds.add(this.contender.title, {
      rate: 1 / seconds,
      requests: 1,
      p50: seconds * 1000,
      p95: seconds * 1000,
      p99: seconds * 1000,
      failures: 0,
      rows: measure === "ingest" || measure === "download" ? dataset.rows : 1,
      ...judgement,
      seconds,
      bytes,
      cpuSeconds: difference(after, before),
      residentBytes: residentBytes(pids),
    });
    // Frees the page cache for the next contender: see "In used memory" in the README.
    if (measure === "ingest") await this.running.drop?.(ingested);
    if (measure === "clone") await this.running.drop?.(cloned);
  }

  /** Reads and judges a large result once, before it is timed. */
  async #judgeResult(scenario, dataset, operation) {
    const { key, measure, table } = scenario;
    if (measure !== "result" || this.#judged.has(key)) return this.#judged.get(key);
    const { rows = 0, sum = 0 } =
      (await this.running.result?.(table, operation, { checked: true })) ?? {};
    const judgement = scenario.judge([{ rows, ids: [], sum }], [operation], dataset);
    this.#judged.set(key, judgement);
    return judgement;
  }

  #suspend() {
    signalAll(processTree(this.running.pid), "SIGSTOP");
  }

  #resume() {
    signalAll(processTree(this.running.pid), "SIGCONT");
  }
}

/** @param {number | undefined} after @param {number | undefined} before */
function difference(after, before) {
  return after === undefined || before === undefined ? undefined : after - before;
}
