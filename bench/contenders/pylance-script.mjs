/** @import { Contender } from "../types.js" */
import { join } from "node:path";
import { createInterface } from "node:readline";
import { root as checkout } from "../../scripts/build/paths.mjs";
import { copyTables } from "./copy-tables.mjs";
import { startProgram } from "./program.mjs";
import { python } from "./python.mjs";

const PROGRAM = join(checkout, "bench", "programs", "fill-column.py");

let interpreter = "";

const writesColumnsOnly = async () => {
  throw new Error("it only fills columns");
};

/**
 * The same function in a script that adds the column with pylance.
 *
 * @type {Contender}
 */
export const pylanceScript = {
  key: "pylance-script",
  title: "a script with pylance",
  scenarios: ["functions"],
  copiesTablesOf: "joust-functions",
  async checkAvailable(options) {
    const packages = ["pylance==14.0.2"];
    const environment = await python({ name: "pylance", packages, module: "lance", ...options });
    if (environment.reason !== undefined) return environment.reason;
    interpreter = environment.interpreter;
  },
  prepare: (workspace) => copyTables(workspace, "joust-functions"),
  async start({ folder, cores }) {
    const program = startProgram(interpreter, [PROGRAM, folder], { cores });
    const answers = createInterface({ input: program.child.stdout })[Symbol.asyncIterator]();
    return {
      pid: program.pid,
      stop: program.stop,
      checkSupported: () => undefined,
      answer: writesColumnsOnly,
      load: writesColumnsOnly,
      create: writesColumnsOnly,
      download: writesColumnsOnly,
      // The script adds the column and fills it in one step.
      declareFunction: async () => {},
      async fillColumn(table, column) {
        program.child.stdin.write(`${JSON.stringify({ table, column })}\n`);
        const { value, done } = await answers.next();
        if (done) throw new Error("the script has ended");
        return JSON.parse(value).rows;
      },
    };
  },
};
