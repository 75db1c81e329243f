import type { Answer, Client, Json } from "../../harness/client.js";
import type { TestServer } from "../../harness/setup-server.js";

/** Statements over `POST /v1/sql` with JSON answers. */
export function statementClient(joust: TestServer) {
  const send = (
    query: string,
    {
      parameters,
      headers,
      client = joust.client,
    }: { parameters?: unknown[]; headers?: Record<string, string>; client?: Client } = {},
  ): Promise<Answer> =>
    client.request("/v1/sql", {
      body: { query, ...(parameters && { parameters }) },
      headers: { accept: "application/json", ...headers },
    });
  /** Runs a statement that must succeed. */
  const run = async (query: string, parameters?: unknown[]): Promise<Answer> => {
    const answer = await send(query, parameters && { parameters });
    if (answer.status !== 200) throw new Error(`${query}: ${answer.status}: ${answer.text}`);
    return answer;
  };
  return {
    send,
    run,
    /** The rows of a statement as objects. */
    rows: async (query: string, parameters?: unknown[]): Promise<Json[]> =>
      (await run(query, parameters)).json.rows,
    /** The number of rows that a statement changed. */
    changed: async (query: string, parameters?: unknown[]): Promise<number> => {
      const { json } = await run(query, parameters);
      if (json.rows.length !== 1) throw new Error(`${query}: ${JSON.stringify(json)}`);
      return json.rows[0].count;
    },
    /** Runs a statement whose result must have neither columns nor rows. */
    define: async (query: string): Promise<Answer> => {
      const answer = await run(query);
      if (answer.text !== '{"columns":[],"rows":[]}') throw new Error(`${query}: ${answer.text}`);
      return answer;
    },
  };
}
