import { type DataType, Field, RecordBatchStreamWriter, Schema, type Table } from "apache-arrow";
import { expect } from "vitest";
import type { Answer, Json } from "../../harness/client.js";
import { waitForJobResult } from "../../harness/jobs.js";
import type { TestServer } from "../../harness/setup-server.js";

/** An Arrow schema encoded as `output_schema`. */
export function schema(fields: Record<string, DataType>): string {
  const writer = new RecordBatchStreamWriter();
  const entries = Object.entries(fields);
  writer.reset(undefined, new Schema(entries.map(([name, type]) => new Field(name, type, true))));
  writer.finish();
  return Buffer.from(writer.toUint8Array(true)).toString("base64");
}

/** Requests of the view tests. */
export function viewClient(joust: TestServer) {
  const create = (id: string, body: object): Promise<Answer> =>
    joust.client.post(`/v1/materialized_view/${id}/create`, body);
  const byQuery = (id: string, query: string): Promise<Answer> => create(id, { query });
  const refresh = (id: string, body: object = {}): Promise<Answer> =>
    joust.client.post(`/v1/materialized_view/${id}/refresh`, body);
  const done = (answer: Answer): Promise<Json> => {
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 202 });
    return waitForJobResult(joust.client, answer.json.job_id);
  };
  const rows = (id: string, more: object = {}): Promise<Table> =>
    joust.client.query(id, { vector: {}, k: 100_000, ...more });
  return {
    create,
    byQuery,
    refresh,
    rows,
    /** Creates a view and fills it. */
    view: async (id: string, query: string): Promise<Json> => done(await byQuery(id, query)),
    refreshed: async (id: string, body: object = {}): Promise<Json> =>
      done(await refresh(id, body)),
    column: async (id: string, name: string): Promise<unknown[]> => {
      const values = [...((await rows(id)).getChild(name) ?? [])];
      return values.map((value) => (typeof value === "bigint" ? Number(value) : value));
    },
    /** The vector of one row. */
    vectorOf: async (id: string, row: number): Promise<number[]> => {
      const result = await rows(id, { filter: `id = ${row}` });
      return [...(result.get(0) as unknown as { vector: Iterable<number> }).vector];
    },
  };
}
