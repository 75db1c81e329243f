/** @import { Built, Contender, Dataset, Gap, Place, Report, Scenario, TableName } from "./types.js" @import { Options } from "./arguments.mjs" */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { choose } from "./arguments.mjs";
import { contenders as all } from "./contenders/all.mjs";
import { makeDataset } from "./data/dataset.mjs";
import { openSource } from "./data/source.mjs";
import { loader } from "./load/http.mjs";
import { describeMachine } from "./measure/machine.mjs";
import { Rounds } from "./measure/rounds.mjs";
import { Seat } from "./measure/seat.mjs";
import { scenarios as known } from "./scenarios.mjs";

/** What `--quick` promises, less what the report and the end of all processes take. */
const QUICK_SECONDS = 150;

/**
 * Measures the chosen scenarios on all contenders that can be had, in turn.
 *
 * @param {Options & { pinned?: number }} options `pinned`: cores that each contender may use
 * @param {(line: string) => void} tell what is going on
 * @returns {Promise<Report>}
 */
export async function runBench(options, tell) {
  const begin = performance.now();
  const scenarios = choose("scenario", known, options.scenarios).filter(
    ({ quick }) => quick || !options.quick || options.scenarios.length > 0,
  );
  const scratch = mkdtempSync(join(tmpdir(), "joust-bench-"));
  const clean = () => rmSync(scratch, { recursive: true, force: true });
  process.once("exit", clean);
  /** @type {Seat[]} */
  const seats = [];
  try {
    const dataset = await makeDataset(await openSource(options), scratch);
    tell(`${dataset.title}: ${dataset.rows} rows of ${dataset.dimensions} dimensions`);
    const named = choose("contender", all, options.contenders);
    const chosen = named.filter(({ quick }) => quick || !options.quick || options.contenders);
    const left = named
      .filter((contender) => !chosen.includes(contender))
      .map(({ title }) => ({ contender: title, reason: "--quick measures it when it is named" }));
    const present = await find(withNeeds(chosen), options, tell);
    const prepared = await prepare(
      present.contenders,
      scenarios,
      dataset,
      scratch,
      options.pinned,
      tell,
    );
    for (const { contender, place } of prepared.places) {
      if (!chosen.includes(contender)) continue;
      seats.push(await Seat.take(contender, place));
    }
    // Inserts and copies come later: this is the table and its indexes.
    const disk = seats.map(({ contender, bytes }) => ({ contender: contender.title, bytes }));
    const deadline = options.quick ? begin + QUICK_SECONDS * 1000 : Number.POSITIVE_INFINITY;
    const measured = await measure(seats, scenarios, dataset, { ...options, deadline }, tell);
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
      },
      contenders: seats.map(({ contender: { key, title } }) => ({ key, title })),
      results: measured.results,
      gaps: [...left, ...present.gaps, ...prepared.gaps, ...measured.gaps],
      built: prepared.built,
      disk,
    };
  } finally {
    for (const seat of seats) await seat.leave();
    process.off("exit", clean);
    clean();
  }
}

/** With those whose tables they copy, which are prepared too. @param {readonly Contender[]} chosen */
function withNeeds(chosen) {
  const wanted = new Set(chosen);
  for (const { needs } of wanted) {
    const source = all.find(({ key }) => key === needs);
    if (source) wanted.add(source);
  }
  return all.filter((contender) => wanted.has(contender));
}

/** @param {readonly Contender[]} contenders @param {Options} options @param {(line: string) => void} tell */
async function find(contenders, { install }, tell) {
  const found = [];
  /** @type {Gap[]} */
  const gaps = [];
  for (const contender of contenders) {
    const reason = await contender.missing({ install });
    if (reason === undefined) found.push(contender);
    else {
      tell(`absent: ${contender.title}; ${reason}`);
      gaps.push({ contender: contender.title, reason });
    }
  }
  return { contenders: found, gaps };
}

/**
 * @param {readonly Contender[]} contenders
 * @param {readonly Scenario[]} scenarios
 * @param {Dataset} dataset
 * @param {string} scratch
 * @param {number | undefined} cores
 * @param {(line: string) => void} tell
 */
async function prepare(contenders, scenarios, dataset, scratch, cores, tell) {
  /** @type {{ contender: Contender, place: Place }[]} */
  const places = [];
  /** @type {Gap[]} */
  const gaps = [];
  /** @type {Built[]} */
  const built = [];
  const tables = /** @type {TableName[]} */ (["bench", "bench_graph", "bench_ivf"]).filter((name) =>
    scenarios.some(({ table }) => table === name),
  );
  const folders = new Map();
  for (const contender of contenders) {
    const folder = join(scratch, contender.key);
    mkdirSync(folder);
    const place = {
      folder,
      dataset,
      others: folders,
      tables,
      cores,
      built: (step, seconds) => built.push({ contender: contender.title, step, seconds }),
    };
    tell(`preparing ${contender.title}`);
    try {
      await contender.prepare(place);
      folders.set(contender.key, folder);
      places.push({ contender, place });
    } catch (error) {
      gaps.push({ contender: contender.title, reason: messageOf(error) });
      tell(`absent: ${contender.title}; ${messageOf(error)}`);
    }
  }
  return { places, gaps, built };
}

/**
 * Each scenario with each number of clients: every contender once a round, and each round another one
 * first, so that a machine whose speed drifts favours nobody.
 *
 * @param {readonly Seat[]} seats
 * @param {readonly Scenario[]} scenarios
 * @param {Dataset} dataset
 * @param {Options & { deadline: number }} options
 * @param {(line: string) => void} tell
 */
async function measure(seats, scenarios, dataset, options, tell) {
  /** @type {Gap[]} */
  const gaps = [];
  const results = [];
  for (const scenario of scenarios) {
    for (const clients of scenario.clients ?? options.clients) {
      tell(`${scenario.title}, ${clients} ${clients === 1 ? "client" : "clients"}`);
      const rounds = new Rounds(scenario, clients);
      const out = new Set();
      for (let round = 0; round < options.rounds; round++) {
        for (const seat of turned(seats, round)) {
          if (out.has(seat)) continue;
          const reason =
            seat.running.refuses(scenario) ??
            (performance.now() > options.deadline ? "no time was left" : undefined) ??
            (await seat.measure(scenario, dataset, { ...options, clients, rounds }));
          if (reason === undefined) continue;
          out.add(seat);
          gaps.push({ contender: seat.contender.title, scenario: scenario.key, reason });
        }
      }
      results.push(...rounds.results());
    }
  }
  return { results, gaps: unique(gaps) };
}

/** @template Thing @param {readonly Thing[]} things @param {number} by */
function turned(things, by) {
  const at = by % Math.max(1, things.length);
  return [...things.slice(at), ...things.slice(0, at)];
}

/** A scenario that is refused is so for every number of clients. @param {readonly Gap[]} gaps */
function unique(gaps) {
  return [...new Map(gaps.map((gap) => [JSON.stringify(gap), gap])).values()];
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}
