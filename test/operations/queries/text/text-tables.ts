import { stream, type } from "../../../harness/arrow.js";
import type { Client, Json } from "../../../harness/client.js";
import { waitForIndex } from "../../../harness/indexes.js";

/** A row of the tables of these tests. */
export interface Row {
  readonly id: number;
  readonly title: string | null;
  readonly body: string | null;
}

/** Rows as an Arrow stream. */
export const rows = (rows: readonly Row[]): Uint8Array =>
  stream({
    id: [type.i64, rows.map((row) => BigInt(row.id))],
    title: [type.text, rows.map((row) => row.title)],
    body: [type.text, rows.map((row) => row.body)],
  });

/** Builds an FTS index, waits for it and returns its entry in the listing. */
export async function textIndex(
  client: Client,
  id: string,
  body: { column: string; name?: string; [parameter: string]: unknown },
): Promise<Json> {
  const request = { index_type: "FTS", ...body };
  await client.ok(`/v1/table/${encodeURIComponent(id)}/create_scalar_index`, request);
  return waitForIndex(client, id, request.name ?? `${request.column}_idx`);
}

/** Ids of the rows that match a text query, best first. */
export async function search(client: Client, id: string, body: object): Promise<number[]> {
  const result = await client.query(id, { vector: {}, columns: { column_names: ["id"] }, ...body });
  return result.toArray().map((row) => Number(row.id));
}

/** A query for words. */
export const words = (query: string, columns?: string[]) => ({
  full_text_query: { string_query: { query, ...(columns && { columns }) } },
});

/** A structured query. */
export const structured = (query: object) => ({
  full_text_query: { structured_query: { query } },
});
