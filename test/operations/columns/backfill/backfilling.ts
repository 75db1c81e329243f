import type { Json } from "../../../harness/client.js";
import type { Serving } from "../../../harness/use-server.js";
import { doneJob } from "../../../jobs/waiting.js";

/** What the tests of backfills ask of a server. */
export function backfilling(serving: Serving) {
  const compute = (id: string, name: string, computed: string) =>
    serving.client.ok(`/v1/table/${id}/add_columns`, { new_columns: [{ name, computed }] });

  const start = (id: string, body: object) =>
    serving.client.post(`/v1/table/${id}/backfill_column`, body);

  async function fill(id: string, column: string, more: object = {}): Promise<Json> {
    const body = { column, ...more };
    const { job_id } = await serving.client.ok(`/v1/table/${id}/backfill_column`, body);
    return doneJob(serving.client, job_id);
  }

  /** A column's values by id. */
  async function values(id: string, column: string): Promise<Map<number, unknown>> {
    const rows = await serving.client.query(id, {
      vector: {},
      k: 100_000,
      columns: { column_names: ["id", column] },
    });
    return new Map(rows.toArray().map((row) => [Number(row.id), row[column]]));
  }

  return { compute, start, fill, values };
}
