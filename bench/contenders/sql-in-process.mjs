/** @import { Contender } from "../types.js" */
import { copyTables } from "./copy-tables.mjs";
import { python } from "./python.mjs";
import { SqlProgram, sqlContender } from "./sql-program.mjs";

/**
 * An engine that runs SQL in process, without a server. Its answers are Arrow batches.
 *
 * @param {{
 *   key: "datafusion" | "duckdb-lance" | "duckdb-parquet",
 *   title: string,
 *   packages: readonly string[],
 *   module: string,
 * }} engine `module`: what its interpreter must be able to import
 * @returns {Contender}
 */
function inProcess({ key, title, packages, module }) {
  let interpreter = "";
  return {
    key,
    title,
    quick: true,
    scenarios: "sql",
    copiesTablesOf: "joust",
    async checkAvailable(options) {
      const environment = await python({ name: key, packages, module, ...options });
      if (environment.reason !== undefined) return environment.reason;
      interpreter = environment.interpreter;
    },
    async prepare(workspace) {
      await copyTables(workspace, "joust");
      if (key !== "duckdb-parquet") return;
      const program = new SqlProgram(interpreter, [key, workspace.folder], workspace.cores);
      try {
        await program.send({ do: "copy" });
      } finally {
        await program.stop();
      }
    },
    async start({ folder, cores }) {
      const program = new SqlProgram(interpreter, [key, folder], cores);
      return sqlContender(program, program);
    },
  };
}

/** The engine of joust's SQL over the same Lance files, through the table provider of pylance. */
export const datafusion = inProcess({
  key: "datafusion",
  title: "DataFusion in process, Lance through pylance",
  // The version whose table providers pylance 14 exports.
  packages: ["datafusion==54.1.0", "pylance==14.0.2"],
  module: "datafusion, lance",
});
/** The same Lance files, through the scanner of pylance as an Arrow dataset. */
export const duckdbLance = inProcess({
  key: "duckdb-lance",
  title: "DuckDB in process, Lance through pylance",
  packages: ["duckdb==2.0.1", "pylance==14.0.2"],
  module: "duckdb, lance",
});
/** A copy of the same rows. */
export const duckdbParquet = inProcess({
  key: "duckdb-parquet",
  title: "DuckDB in process, Parquet copy",
  packages: ["duckdb==2.0.1", "pylance==14.0.2"],
  module: "duckdb, lance",
});
