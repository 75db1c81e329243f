/** @import { Operation, Contender, Workspace, RunningContender } from "../types.js" */

import { existsSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { rustProgram } from "../measure/rust-program.mjs";
import { copyTables } from "./copy-tables.mjs";
import { startProgram } from "./program.mjs";
import { sql } from "./sql.mjs";

const NOT_SERVED = {
  describe: "it is a library: it has no description to fetch",
  "points-beside-filters": "its program runs one load at a time",
  "points-beside-deletes": "its program runs one load at a time",
};

/** The program of `crates/joust-core/benches/lance_in_process`, which reads commands and writes answers as lines of JSON. */
class Program {
  #program;
  #answers;

  /** @param {string} path @param {number | undefined} cores */
  constructor(path, cores) {
    // The same number of compute threads and the same purge delay as joust: src/server/lance-environment.ts.
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
  async send(command) {
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
  copiesTablesOf: "joust",
  async checkAvailable({ install }) {
    try {
      program = await rustProgram({
        name: "lance_in_process",
        // It contains no code of joust, so that a change of joust does not recompile it.
        inputs: ["crates/joust-core/benches/lance_in_process"],
        build: install,
      });
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  },
  /** Copies the tables that joust wrote, and adds a text index in the format of Lance. */
  async prepare(workspace) {
    await copyTables(workspace, "joust");
    const running = new Program(program, workspace.cores);
    try {
      for (const table of workspace.tables) {
        const path = join(workspace.folder, `${table}.lance`);
        await running.send({ do: "open", table, path });
        const begin = performance.now();
        await running.send({ do: "index", table, index: { column: "text" } });
        workspace.recordStep("INVERTED index of text", (performance.now() - begin) / 1000);
      }
    } finally {
      await running.stop();
    }
  },
  async start(workspace) {
    return inProcess(new Program(program, workspace.cores), workspace);
  },
};

/** @param {Program} program @param {Workspace} workspace @returns {Promise<RunningContender>} */
async function inProcess(program, { folder, dataset: { distance }, tables }) {
  const pathOf = (table) => join(folder, `${table}.lance`);
  for (const table of tables) {
    if (existsSync(pathOf(table))) await program.send({ do: "open", table, path: pathOf(table) });
  }
  const encode = (operation) => encodeOperation(operation, distance);
  return {
    pid: program.pid,
    checkSupported: ({ key }) => NOT_SERVED[key],
    stop: program.stop,
    answer: (table, operation) => program.send({ do: "answer", table, ask: encode(operation) }),
    load: (table, operations, clients, seconds) =>
      program.send({ do: "load", table, asks: operations.map(encode), clients, seconds }),
    async create(table, file) {
      rmSync(pathOf(table), { recursive: true, force: true });
      await program.send({ do: "ingest", source: file, path: pathOf(table) });
      await program.send({ do: "open", table, path: pathOf(table) });
    },
    async drop(table) {
      rmSync(pathOf(table), { recursive: true });
    },
    async download(table) {
      await program.send({ do: "answer", table, ask: { kind: "download" } });
      return {};
    },
  };
}

/** An operation in the JSON that the program reads. @param {Operation} operation @param {string} distance */
function encodeOperation(operation, distance) {
  if (operation.kind === "insert") return { kind: "insert", source: operation.source };
  const filter = "filter" in operation && operation.filter ? { filter: sql(operation.filter) } : {};
  return { ...operation, ...filter, ...("vectors" in operation ? { distance } : {}) };
}
