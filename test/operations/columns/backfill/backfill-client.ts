import type { Json } from "../../../harness/client.js";
import { waitForJobResult } from "../../../harness/jobs.js";
import type { TestServer } from "../../../harness/setup-server.js";

/** Requests of the backfill tests. */
export function backfillClient(joust: TestServer) {
  const compute = (id: string, name: string, computed: string) =>
    joust.client.ok(`/v1/table/${id}/add_columns`, { new_columns: [{ name, computed }] });

  const start = (id: string, body: object) =>
    joust.client.post(`/v1/table/${id}/backfill_column`, body);

  async function fill(id: string, column: string, more: object = {}): Promise<Json> {
    const body = { column, ...more };
    const { job_id } = await joust.client.ok(`/v1/table/${id}/backfill_column`, body);
    return waitForJobResult(joust.client, job_id);
  }

  /** The values of a column by id. */
  async function values(id: string, column: string): Promise<Map<number, unknown>> {
    const rows = await joust.client.query(id, {
      vector: {},
      k: 100_000,
      columns: { column_names: ["id", column] },
    });
    return new Map(rows.toArray().map((row) => [Number(row.id), row[column]]));
  }

  return { compute, start, fill, values };
}
