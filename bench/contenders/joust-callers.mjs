/** @import { Contender, Workspace } from "../types.js" */
import { execFileSync } from "node:child_process";
import { copyTables } from "./copy-tables.mjs";
import { httpContender, send } from "./http-contender.mjs";
import { joust, KEY, MAIN, serve } from "./joust.mjs";

/** Creates a key. @param {Workspace} workspace @param {string} role */
function createKey({ folder }, role) {
  const args = ["key", "create", "--name", `a ${role}`, "--role", role, folder];
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
 * The same server and the same requests, by the caller of one key of the catalog.
 *
 * @param {{ key: string, title: string, role: string }} caller
 * @returns {Contender}
 */
const joustForCaller = ({ role, ...named }) => ({
  ...named,
  copiesTablesOf: "joust",
  scenarios: ["rows"],
  checkAvailable: () => joust.checkAvailable({ install: false }),
  prepare: (workspace) => copyTables(workspace, "joust"),
  async start(workspace) {
    const { key, id } = createKey(workspace, role);
    const { program, dialect } = await serve(workspace, ["--http=uws"], key);
    if (role === "none") {
      for (const table of workspace.tables) {
        await runSql(dialect.url, `GRANT SELECT ON ${table} TO 'key:${id}'`);
      }
    }
    return httpContender(program, { ...dialect, checkSupported: () => undefined });
  },
});

/** A role decides each request before its path is read: beside `joustGranted`, what authorization costs. */
export const joustRead = joustForCaller({
  key: "joust-read",
  title: "joust, a caller with the role read",
  role: "read",
});

/** Only grants admit the requests. */
export const joustGranted = joustForCaller({
  key: "joust-granted",
  title: "joust, a caller with grants",
  role: "none",
});
