import { type Table, tableFromIPC } from "apache-arrow";
import { type Answer, ARROW_STREAM, type Client, type Json } from "../../../harness/client.js";
import type { TestServer } from "../../../harness/setup-server.js";

/** SQL requests of the tests. */
export function sqlClient(joust: TestServer) {
  const send = (
    body: object | string | Uint8Array,
    accept = "application/json",
    client: Client = joust.client,
  ): Promise<Answer> =>
    client.request("/v1/sql", {
      body,
      headers: { accept, "content-type": "application/json" },
    });
  const sendOk = async (body: object, accept?: string): Promise<Answer> => {
    const answer = await send(body, accept);
    if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`);
    return answer;
  };
  return {
    send,
    sendOk,
    /** The rows of a statement as objects. */
    rows: async (query: string, more: object = {}): Promise<Json[]> =>
      (await sendOk({ query, ...more })).json.rows,
    arrow: async (query: string, more: object = {}): Promise<Table> =>
      tableFromIPC((await sendOk({ query, ...more }, ARROW_STREAM)).bytes),
    /** The physical plan of a statement. */
    plan: async (query: string): Promise<string> =>
      (await sendOk({ query: `EXPLAIN ${query}` })).json.rows[1].plan,
  };
}
