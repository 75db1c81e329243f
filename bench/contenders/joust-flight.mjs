/** @import { Contender } from "../types.js" */
import getPort from "get-port";
import { copyTables } from "./copy-tables.mjs";
import { joust, serve } from "./joust.mjs";
import { python } from "./python.mjs";
import { SqlProgram, sqlContender } from "./sql-program.mjs";

const PACKAGES = ["adbc-driver-flightsql==1.13.0", "pyarrow==26.0.1"];

let interpreter = "";

/** joust over Flight SQL. The load generator is a Python program with ADBC, one thread for each client. @type {Contender} */
export const joustFlight = {
  key: "joust-flight",
  title: "joust over Flight SQL",
  quick: true,
  scenarios: "sql",
  copiesTablesOf: "joust",
  async checkAvailable(options) {
    const reason = await joust.checkAvailable(options);
    if (reason !== undefined) return reason;
    const module = "adbc_driver_flightsql.dbapi, pyarrow";
    const environment = await python({ name: "flight", packages: PACKAGES, module, ...options });
    if (environment.reason !== undefined) return environment.reason;
    interpreter = environment.interpreter;
  },
  prepare: (workspace) => copyTables(workspace, "joust"),
  async start(workspace) {
    const port = await getPort({ host: "127.0.0.1" });
    const { program, key } = await serve(workspace, [`--sql-port=${port}`]);
    const address = `grpc://127.0.0.1:${port}`;
    const client = new SqlProgram(interpreter, ["flight", address, key], undefined);
    return sqlContender(client, {
      pid: program.pid,
      async stop() {
        await client.stop();
        await program.stop();
      },
    });
  },
};
