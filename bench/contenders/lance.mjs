/** @import { Ask, Contender, Place, Running } from "../types.js" */

import { existsSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { copyTables } from "./copy-tables.mjs";
import { lanceProgram } from "./lance-build.mjs";
import { startProgram } from "./process.mjs";
import { sql } from "./sql.mjs";

const NOT_SERVED = { describe: "a library has no description to fetch" };

/** Speaks lines of JSON with `crates/joust-core/benches/lance_in_process`. */
class Program {
  #program;
  #answers;

  /** @param {string} path @param {number | undefined} cores */
  constructor(path, cores) {
    // As many threads for computing as joust takes, and memory kept as long (src/server/lance-environment.ts).
    const env = {
      LANCE_CPU_THREADS: String(cores ?? availableParallelism()),
      MIMALLOC_PURGE_DELAY: "5000",
    };
    this.#program = startProgram(path, [], { env, cores });
    this.#answers = createInterface({ input: this.#program.child.stdout })[Symbol.asyncIterator]();
  }

  get pid() {
    return this.#program.pid;
  }

  /** @param {object} command @returns {Promise<any>} */
  async tell(command) {
    this.#program.child.stdin.write(`${JSON.stringify(command)}\n`);
    const { value, done } = await this.#answers.next();
    if (done) throw new Error("the program that runs Lance has ended");
    const answer = JSON.parse(value);
    if (answer.error) throw new Error(answer.error);
    return answer;
  }

  stop = () => this.#program.stop();
}

/** @type {string} */
let program;

/** @type {Contender} */
export const lance = {
  key: "lance",
  title: "Lance in process",
  quick: true,
  needs: "joust",
  async missing({ install }) {
    try {
      program = await lanceProgram({ build: install });
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  },
  /** The tables that joust wrote, and a text index that Lance itself can read. */
  async prepare(place) {
    await copyTables(place, "joust");
    const running = new Program(program, place.cores);
    try {
      for (const table of place.tables) {
        const path = join(place.folder, `${table}.lance`);
        await running.tell({ do: "open", table, path });
        const begin = performance.now();
        await running.tell({ do: "index", table, index: { column: "text" } });
        place.built("INVERTED index of text", (performance.now() - begin) / 1000);
      }
    } finally {
      await running.stop();
    }
  },
  async start(place) {
    return inProcess(new Program(program, place.cores), place);
  },
};

/** @param {Program} program @param {Place} place @returns {Promise<Running>} */
async function inProcess(program, { folder, dataset: { distance }, tables }) {
  const pathOf = (table) => join(folder, `${table}.lance`);
  for (const table of tables) {
    if (existsSync(pathOf(table))) await program.tell({ do: "open", table, path: pathOf(table) });
  }
  const said = (ask) => spoken(ask, distance);
  return {
    pid: program.pid,
    refuses: ({ key }) => NOT_SERVED[key],
    stop: program.stop,
    answer: (table, ask) => program.tell({ do: "answer", table, ask: said(ask) }),
    load: (table, asks, clients, seconds) =>
      program.tell({ do: "load", table, asks: asks.map(said), clients, seconds }),
    async create(table, file) {
      rmSync(pathOf(table), { recursive: true, force: true });
      await program.tell({ do: "ingest", source: file, path: pathOf(table) });
      await program.tell({ do: "open", table, path: pathOf(table) });
    },
    async drop(table) {
      rmSync(pathOf(table), { recursive: true });
    },
    async download(table) {
      await program.tell({ do: "answer", table, ask: { kind: "download" } });
      return {};
    },
  };
}

/** As the program expects it. @param {Ask} ask @param {string} distance */
function spoken(ask, distance) {
  if (ask.kind === "insert") return { kind: "insert", source: ask.source };
  const filter = "filter" in ask && ask.filter ? { filter: sql(ask.filter) } : {};
  return { ...ask, ...filter, ...("vectors" in ask ? { distance } : {}) };
}
