/** @import { Contender, Workspace } from "../types.js" */
import { execFileSync } from "node:child_process";
import { copyTables } from "./copy-tables.mjs";
import { httpContender, send } from "./http-contender.mjs";
import { joust, KEY, MAIN, serve } from "./joust.mjs";

/** Creates a key without a role. @param {Workspace} workspace */
function createKey({ folder }) {
  const args = ["key", "create", "--name", "granted", "--role", "none", folder];
  const printed = execFileSync(process.execPath, [MAIN, ...args], { encoding: "utf8" });
  const [, key = "", id = ""] = /: (joust_\S+)\nid: (\S+)/.exec(printed) ?? [];
  return { key, id };
}

/** @param {string} url @param {string} query */
const runSql = (url, query) =>
  send(url, {
    method: "POST",
    path: "/v1/sql",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    body: JSON.stringify({ query }),
  });

/**
 * The same server and the same requests, by a caller that only grants admit: what authorization costs.
 *
 * @type {Contender}
 */
export const joustGranted = {
  key: "joust-granted",
  title: "joust, a caller with grants",
  copiesTablesOf: "joust",
  scenarios: ["rows"],
  checkAvailable: () => joust.checkAvailable({ install: false }),
  prepare: (workspace) => copyTables(workspace, "joust"),
  async start(workspace) {
    const { key, id } = createKey(workspace);
    const { program, dialect } = await serve(workspace, ["--http=uws"], key);
    for (const table of workspace.tables) {
      await runSql(dialect.url, `GRANT SELECT ON ${table} TO 'key:${id}'`);
    }
    return httpContender(program, { ...dialect, checkSupported: () => undefined });
  },
};
