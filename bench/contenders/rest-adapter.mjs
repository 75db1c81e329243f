/** @import { Contender } from "../types.js" */
import { join } from "node:path";
import { root as checkout } from "../../scripts/build/paths.mjs";
import { copyTables } from "./copy-tables.mjs";
import { httpContender } from "./http-contender.mjs";
import { namespaceDialect } from "./namespace-dialect.mjs";
import { listening, startProgram } from "./program.mjs";
import { python } from "./python.mjs";

const PACKAGES = ["pylance==14.0.2", "lance-namespace==0.13.0"];
const PROGRAM = join(checkout, "bench", "programs", "rest-adapter.py");
const NOT_SERVED = {
  hybrid: "it has no hybrid search",
  ingest: "it accepts no body over 2 MiB",
};

/**
 * @param {{ key: string, title: string, flags: readonly string[], quick?: boolean }} configuration
 * @returns {Contender}
 */
function restAdapter({ key, title, flags, quick = false }) {
  let interpreter = "";
  return {
    key,
    title,
    quick,
    copiesTablesOf: "lance",
    async checkAvailable(options) {
      const environment = await python({
        name: "pylance",
        packages: PACKAGES,
        module: "lance.namespace",
        ...options,
      });
      if (environment.reason !== undefined) return environment.reason;
      interpreter = environment.interpreter;
    },
    prepare: (workspace) => copyTables(workspace, "lance"),
    async start({ folder, cores, dataset: { distance } }) {
      const program = startProgram(interpreter, [PROGRAM, folder, ...flags], {
        quiet: true,
        cores,
      });
      const url = await listening(program);
      const dialect = namespaceDialect({ url, headers: {}, distance });
      return httpContender(program, { ...dialect, checkSupported: ({ key }) => NOT_SERVED[key] });
    },
  };
}

/** The server of pylance for the same interface, with two configurations. */
export const restAdapterDefault = restAdapter({
  key: "rest-adapter",
  title: "pylance RestAdapter",
  flags: [],
});
export const restAdapterSession = restAdapter({
  key: "rest-adapter-session",
  title: "pylance RestAdapter, shared session",
  flags: ["--shared-session"],
  quick: true,
});
