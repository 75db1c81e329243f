/** @import { BuildStep, Contender, Dataset, Gap, Workspace, Report, Scenario } from "./types.js" @import { Options } from "./arguments.mjs" */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { choose } from "./arguments.mjs";
import { contenders as all } from "./contenders/all.mjs";
import { makeDataset } from "./data/dataset.mjs";
import { makeRelational } from "./data/relational.mjs";
import { openSource } from "./data/source.mjs";
import { runs, tablesOf } from "./data/tables.mjs";
import { loader } from "./load/generator.mjs";
import { ContenderProcess } from "./measure/contender-process.mjs";
import { describeMachine } from "./measure/machine.mjs";
import { Rounds } from "./measure/rounds.mjs";
import { scenarios as known } from "./scenarios.mjs";

/** The limit that `--quick` promises, less the time for the report and for stopping all processes. */
const QUICK_SECONDS = 150;

/**
 * Measures the chosen scenarios on all available contenders, in turn.
 *
 * @param {Options & { pinned?: number }} options `pinned`: cores that each contender may use
 * @param {(line: string) => void} log receives progress messages
 * @returns {Promise<Report>}
 */
export async function runBench(options, log) {
  const begin = performance.now();
  const scenarios = choose("scenario", known, options.scenarios).filter(
    ({ quick }) => quick || !options.quick || options.scenarios.length > 0,
  );
  const scratch = mkdtempSync(join(tmpdir(), "joust-bench-"));
  const clean = () => rmSync(scratch, { recursive: true, force: true });
  process.once("exit", clean);
  /** @type {ContenderProcess[]} */
  const processes = [];
  try {
    const dataset = await makeDataset(await openSource(options), scratch);
    if (scenarios.some(({ group }) => group === "sql")) {
      dataset.relational = await makeRelational(
        { rows: options.sqlRows, seed: options.seed },
        scratch,
      );
    }
    log(`${dataset.title}: ${dataset.rows} rows of ${dataset.dimensions} dimensions`);
    const named = choose("contender", all, options.contenders).filter((contender) =>
      scenarios.some((scenario) => runs(contender, scenario)),
    );
    const chosen = named.filter(({ quick }) => quick || !options.quick || options.contenders);
    const notNamed = named
      .filter((contender) => !chosen.includes(contender))
      .map(({ title }) => ({
        contender: title,
        reason: "--quick measures it only if --contenders names it",
      }));
    const available = await findAvailable(withTableSources(chosen), options, log);
    const prepared = await prepare(
      available.contenders,
      scenarios,
      dataset,
      scratch,
      options.pinned,
      log,
    );
    for (const { contender, workspace } of prepared.workspaces) {
      if (!chosen.includes(contender)) continue;
      processes.push(await ContenderProcess.start(contender, workspace));
    }
    // Before the inserts of the scenarios: the size of the tables and their indexes.
    const disk = processes.map(({ contender, bytes }) => ({ contender: contender.title, bytes }));
    const deadline = options.quick ? begin + QUICK_SECONDS * 1000 : Number.POSITIVE_INFINITY;
    const measured = await measure(processes, scenarios, dataset, { ...options, deadline }, log);
    return {
      when: new Date().toISOString(),
      seconds: Math.round((performance.now() - begin) / 1000),
      machine: describeMachine(),
      options,
      loader,
      dataset: {
        title: dataset.title,
        rows: dataset.rows,
        dimensions: dataset.dimensions,
        distance: dataset.distance,
        bytes: dataset.bytes,
        ...(dataset.relational && { sqlRows: dataset.relational.rows }),
      },
      contenders: processes.map(({ contender: { key, title } }) => ({ key, title })),
      results: measured.results,
      gaps: [...notNamed, ...available.gaps, ...prepared.gaps, ...measured.gaps],
      built: prepared.built,
      disk,
    };
  } finally {
    for (const running of processes) await running.stop();
    process.off("exit", clean);
    clean();
  }
}

/** Adds the contenders whose tables the chosen ones copy. @param {readonly Contender[]} chosen */
function withTableSources(chosen) {
  const wanted = new Set(chosen);
  for (const { copiesTablesOf } of wanted) {
    const source = all.find(({ key }) => key === copiesTablesOf);
    if (source) wanted.add(source);
  }
  return all.filter((contender) => wanted.has(contender));
}

/** @param {readonly Contender[]} contenders @param {Options} options @param {(line: string) => void} log */
async function findAvailable(contenders, { install }, log) {
  const available = [];
  /** @type {Gap[]} */
  const gaps = [];
  for (const contender of contenders) {
    const reason = await contender.checkAvailable({ install });
    if (reason === undefined) available.push(contender);
    else {
      log(`unavailable: ${contender.title}; ${reason}`);
      gaps.push({ contender: contender.title, reason });
    }
  }
  return { contenders: available, gaps };
}

/**
 * @param {readonly Contender[]} contenders
 * @param {readonly Scenario[]} scenarios
 * @param {Dataset} dataset
 * @param {string} scratch
 * @param {number | undefined} cores
 * @param {(line: string) => void} log
 */
async function prepare(contenders, scenarios, dataset, scratch, cores, log) {
  /** @type {{ contender: Contender, workspace: Workspace }[]} */
  const workspaces = [];
  /** @type {Gap[]} */
  const gaps = [];
  /** @type {BuildStep[]} */
  const built = [];
  const folders = new Map();
  for (const contender of contenders) {
    const folder = join(scratch, contender.key);
    mkdirSync(folder);
    const workspace = {
      folder,
      dataset,
      others: folders,
      tables: tablesOf(scenarios, contender),
      cores,
      recordStep: (step, seconds) => built.push({ contender: contender.title, step, seconds }),
    };
    log(`preparing ${contender.title}`);
    try {
      await contender.prepare(workspace);
      folders.set(contender.key, folder);
      workspaces.push({ contender, workspace });
    } catch (error) {
      gaps.push({ contender: contender.title, reason: messageOf(error) });
      log(`unavailable: ${contender.title}; ${messageOf(error)}`);
    }
  }
  return { workspaces, gaps, built };
}

/**
 * Measures each scenario with each number of clients. A round measures every contender once. Each round
 * starts with another contender, so that a drift in the speed of the machine favours none.
 *
 * @param {readonly ContenderProcess[]} processes
 * @param {readonly Scenario[]} scenarios
 * @param {Dataset} dataset
 * @param {Options & { deadline: number }} options
 * @param {(line: string) => void} log
 */
async function measure(processes, scenarios, dataset, options, log) {
  /** @type {Gap[]} */
  const gaps = [];
  const results = [];
  for (const scenario of scenarios) {
    for (const clients of scenario.clients ?? options.clients) {
      log(`${scenario.title}, ${clients} ${clients === 1 ? "client" : "clients"}`);
      const rounds = new Rounds(scenario, clients);
      const failed = new Set();
      const running = processes.filter(({ contender }) => runs(contender, scenario));
      for (let round = 0; round < options.rounds; round++) {
        for (const measured of rotated(running, round)) {
          if (failed.has(measured)) continue;
          const reason =
            measured.checkSupported(scenario) ??
            (performance.now() > options.deadline ? "the time limit was reached" : undefined) ??
            (await measured.measure(scenario, dataset, { ...options, clients, rounds }));
          if (reason === undefined) continue;
          failed.add(measured);
          gaps.push({ contender: measured.contender.title, scenario: scenario.key, reason });
        }
      }
      results.push(...rounds.results());
    }
  }
  return { results, gaps: unique(gaps) };
}

/** @template Thing @param {readonly Thing[]} things @param {number} by */
function rotated(things, by) {
  const at = by % Math.max(1, things.length);
  return [...things.slice(at), ...things.slice(0, at)];
}

/** Removes duplicates: an unsupported scenario is so for every number of clients. @param {readonly Gap[]} gaps */
function unique(gaps) {
  return [...new Map(gaps.map((gap) => [JSON.stringify(gap), gap])).values()];
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}
