/** @import { Operation, RunningContender } from "../types.js" */
import { join } from "node:path";
import { createInterface } from "node:readline";
import { root as checkout } from "../../scripts/build/paths.mjs";
import { startProgram } from "./program.mjs";

const PROGRAM = join(checkout, "bench", "programs", "sql.py");

/** `bench/programs/sql.py`, which reads commands and writes answers as lines of JSON. */
export class SqlProgram {
  #program;
  #answers;

  /** @param {string} interpreter @param {readonly string[]} args @param {number | undefined} cores */
  constructor(interpreter, args, cores) {
    this.#program = startProgram(interpreter, [PROGRAM, ...args], { cores });
    this.#answers = createInterface({ input: this.#program.child.stdout })[Symbol.asyncIterator]();
  }

  get pid() {
    return this.#program.pid;
  }

  /** @param {object} command @returns {Promise<any>} */
  async send(command) {
    this.#program.child.stdin.write(`${JSON.stringify(command)}\n`);
    const { value, done } = await this.#answers.next();
    if (done) throw new Error("the program that runs SQL has ended");
    const answer = JSON.parse(value);
    if (answer.error) throw new Error(answer.error);
    return answer;
  }

  stop = () => this.#program.stop();
}

/**
 * A contender that runs the SQL scenarios only.
 *
 * @param {SqlProgram} program
 * @param {{ pid: number, stop(): Promise<void> }} server the process to measure
 * @returns {RunningContender}
 */
export function sqlContender(program, { pid, stop }) {
  const noTables = async () => {
    throw new Error("it writes no tables");
  };
  return {
    pid,
    checkSupported: () => undefined,
    stop,
    answer: async (_table, operation) => {
      const { rows, values } = await program.send({ do: "answer", text: textOf(operation) });
      return { rows, ids: [], values };
    },
    load: (_table, operations, clients, seconds) =>
      program.send({ do: "load", texts: operations.map(textOf), clients, seconds }),
    result: async (_table, operation, { checked }) =>
      program.send({ do: "result", text: textOf(operation), checked }),
    create: noTables,
    download: noTables,
  };
}

/** @param {Operation} operation */
function textOf(operation) {
  if (operation.kind !== "sql") throw new Error(`it has no operation ${operation.kind}`);
  return operation.text;
}
