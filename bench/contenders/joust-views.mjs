/** @import { Contender } from "../types.js" */
import { setTimeout as sleep } from "node:timers/promises";
import { fileOf } from "../data/tables.mjs";
import { httpContender, send } from "./http-contender.mjs";
import { joust, KEY, serve } from "./joust.mjs";

/** How often the state of the job is read, ms. */
const POLL_INTERVAL = 10;
/** One row in so many changes before each refresh. */
const CHANGED = 100;

/**
 * The server with a view of all rows and columns.
 *
 * @param {{ key: string, title: string, full: boolean }} contender
 * @returns {Contender}
 */
const viewContender = ({ full, ...named }) => ({
  ...named,
  scenarios: ["views"],
  checkAvailable: joust.checkAvailable,
  async prepare(workspace) {
    const { program, dialect } = await serve(workspace);
    const view = viewClient(dialect.url);
    try {
      for (const table of workspace.tables) {
        await dialect.create(table, fileOf(workspace.dataset, table));
        const query = `SELECT * FROM ${table}`;
        const { job_id } = await view.post(`/v1/materialized_view/${table}_view/create`, { query });
        await view.result(job_id);
      }
    } finally {
      await program.stop();
    }
  },
  async start(workspace) {
    const { program, dialect } = await serve(workspace);
    const view = viewClient(dialect.url);
    let changes = 0;
    return {
      ...httpContender(program, { ...dialect, checkSupported: () => undefined }),
      async changeRows(table) {
        const query = `UPDATE ${table} SET text = text || '.' WHERE id % ${CHANGED} = ${changes++ % CHANGED}`;
        await view.post("/v1/sql", { query });
      },
      async refreshView(table) {
        const path = `/v1/materialized_view/${table}_view/refresh`;
        const { job_id } = await view.post(path, { full });
        const { mode } = await view.result(job_id);
        if ((mode === "rebuild") !== full) throw new Error(`the refresh was of the kind ${mode}`);
        return Number(await view.post(`/v1/table/${table}_view/count_rows`, {}));
      },
    };
  },
});

/** @param {string} url */
function viewClient(url) {
  /** @param {string} path @param {object} body @returns {Promise<any>} */
  const post = async (path, body) => {
    const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
    const answer = await send(url, { method: "POST", path, headers, body: JSON.stringify(body) });
    const text = await answer.text();
    return answer.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text;
  };
  return {
    post,
    /** The result of a job, when it has ended. @param {string} job_id @returns {Promise<any>} */
    async result(job_id) {
      for (;;) {
        const { job_state, result, failure } = await post("/v1/jobs/describe", { job_id });
        if (job_state === "DONE") return result;
        if (job_state === "FAILED") throw new Error(failure.message);
        await sleep(POLL_INTERVAL);
      }
    },
  };
}

/** It computes the rows that come from changed rows. */
export const joustViews = viewContender({
  key: "joust-views",
  title: "joust, incremental refresh",
  full: false,
});

/** It computes all rows. */
export const joustFullViews = viewContender({
  key: "joust-views-full",
  title: "joust, full refresh",
  full: true,
});
