/** @import { Contender } from "../types.js" */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root as checkout } from "../../scripts/build/paths.mjs";
import { fileOf } from "../data/tables.mjs";
import { httpContender, send } from "./http-contender.mjs";
import { joust, serve } from "./joust.mjs";
import { python } from "./python.mjs";

const SOURCE = join(checkout, "bench", "programs", "embed.py");
const ITEM = { name: "item", type: { type: "float32" }, nullable: true };
/** How often the state of the job is read, ms. */
const POLL_INTERVAL = 10;

let interpreter = "";

/**
 * The server with one process for Python functions, which computes one fragment at a time.
 *
 * @type {Contender}
 */
export const joustFunctions = {
  key: "joust-functions",
  title: "joust, one function process",
  scenarios: ["functions"],
  async checkAvailable(options) {
    const packages = ["pylance==14.0.2"];
    const environment = await python({ name: "pylance", packages, module: "lance", ...options });
    if (environment.reason !== undefined) return environment.reason;
    interpreter = environment.interpreter;
    return joust.checkAvailable(options);
  },
  async prepare(workspace) {
    const { program, dialect } = await serve(workspace);
    try {
      for (const table of workspace.tables) {
        await dialect.create(table, fileOf(workspace.dataset, table));
      }
    } finally {
      await program.stop();
    }
  },
  async start(workspace) {
    const functions = ["--functions=subprocess", `--python=${interpreter}`];
    const { program, dialect } = await serve(workspace, [...functions, "--function-workers=1"]);
    const { url, json } = dialect;
    /** @param {string} table @param {string} operation @param {object} body @returns {Promise<any>} */
    const call = async (table, operation, body) =>
      (await send(url, json(table, operation, body))).json();
    /** @param {string} job @returns {Promise<any>} */
    const describe = async (job) => {
      const request = { ...json("", "", { job_id: job }), path: "/v1/jobs/describe" };
      return (await send(url, request)).json();
    };
    return {
      ...httpContender(program, { ...dialect, checkSupported: () => undefined }),
      async declareFunction(table, column) {
        const virtual_column = {
          input_columns: ["text"],
          data_type: { type: "fixed_size_list", length: 64, fields: [ITEM] },
          python: { source: readFileSync(SOURCE, "utf8"), entry: "embed" },
        };
        await call(table, "add_columns", { new_columns: [{ name: column, virtual_column }] });
      },
      async fillColumn(table, column) {
        const options = { column, concurrency: 1 };
        const { job_id } = await call(table, "backfill_column", options);
        for (;;) {
          const { job_state, result, failure } = await describe(job_id);
          if (job_state === "DONE") return result.rows_assigned;
          if (job_state === "FAILED") throw new Error(failure.message);
          await sleep(POLL_INTERVAL);
        }
      },
    };
  },
};
