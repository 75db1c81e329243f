/** @import { Contender } from "../types.js" */
import { join } from "node:path";
import { root as checkout } from "../../scripts/build/paths.mjs";
import { copyTables } from "./copy-tables.mjs";
import { overHttp } from "./http.mjs";
import { namespaceDialect } from "./namespace-dialect.mjs";
import { listening, startProgram } from "./process.mjs";
import { python } from "./python.mjs";

const PACKAGES = ["pylance==14.0.2", "lance-namespace==0.13.0"];
const PROGRAM = join(checkout, "bench", "programs", "rest-adapter.py");
const NOT_SERVED = {
  hybrid: "it does not search by vector and text at once",
  ingest: "it takes no body over 2 MiB",
};

/**
 * @param {{ key: string, title: string, flags: readonly string[], quick?: boolean }} form
 * @returns {Contender}
 */
function restAdapter({ key, title, flags, quick = false }) {
  let interpreter = "";
  return {
    key,
    title,
    quick,
    needs: "lance",
    async missing(options) {
      const found = await python({
        name: "pylance",
        packages: PACKAGES,
        module: "lance.namespace",
        ...options,
      });
      if (found.reason !== undefined) return found.reason;
      interpreter = found.interpreter;
    },
    prepare: (place) => copyTables(place, "lance"),
    async start({ folder, cores, dataset: { distance } }) {
      const program = startProgram(interpreter, [PROGRAM, folder, ...flags], {
        quiet: true,
        cores,
      });
      const url = await listening(program);
      const dialect = namespaceDialect({ url, headers: {}, distance });
      return overHttp(program, { ...dialect, refuses: ({ key }) => NOT_SERVED[key] });
    },
  };
}

/** What pylance ships to serve the same interface, in two settings. */
export const asItComes = restAdapter({
  key: "rest-adapter",
  title: "pylance RestAdapter",
  flags: [],
});
export const sharedSession = restAdapter({
  key: "rest-adapter-session",
  title: "pylance RestAdapter, shared session",
  flags: ["--shared-session"],
  quick: true,
});
