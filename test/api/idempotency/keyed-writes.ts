import { randomUUID } from "node:crypto";
import { stream, type } from "../../harness/arrow.js";
import type { Answer, Client, RequestOptions } from "../../harness/client.js";

/** Response header of a replayed response. */
export const REPLAYED = "idempotent-replayed";

/** Rows for the tables of these tests. */
export const rowsOf = (...ids: number[]): Uint8Array =>
  stream({ id: [type.i32, ids], n: [type.i32, ids.map(() => 0)] });

/** Sends a request with an idempotency key. */
export function keyed(
  client: Client,
  key: string,
  path: string,
  body?: object | Uint8Array,
  params?: Record<string, string>,
): Promise<Answer> {
  const options: RequestOptions = { headers: { "idempotency-key": key } };
  if (body !== undefined) options.body = body;
  if (params !== undefined) options.params = params;
  return client.request(path, options);
}

export const newKey = (): string => randomUUID();

/** A write on a table of ten rows, 0 to 9, and its effect on the row count and a sum. */
export interface Write {
  readonly name: string;
  readonly path: (table: string) => string;
  readonly body: () => object | Uint8Array;
  readonly params?: Record<string, string>;
  /** Row count and sum of n after one execution. */
  readonly after: readonly [rows: number, sum: number];
}

export const writes: readonly Write[] = [
  {
    name: "insert",
    path: (table) => `/v1/table/${table}/insert`,
    body: () => rowsOf(10, 11, 12),
    after: [13, 0],
  },
  {
    name: "overwrite",
    path: (table) => `/v1/table/${table}/insert`,
    params: { mode: "overwrite" },
    body: () => rowsOf(1, 2),
    after: [2, 0],
  },
  {
    name: "update",
    path: (table) => `/v1/table/${table}/update`,
    body: () => ({ predicate: "id < 4", updates: [["n", "n + 1"]] }),
    after: [10, 4],
  },
  {
    name: "delete",
    path: (table) => `/v1/table/${table}/delete`,
    body: () => ({ predicate: "id < 4" }),
    after: [6, 0],
  },
  {
    name: "merge",
    path: (table) => `/v1/table/${table}/merge_insert`,
    params: { on: "id", when_matched_update_all: "true", when_not_matched_insert_all: "true" },
    body: () => stream({ id: [type.i32, [8, 9, 10, 11, 12]], n: [type.i32, [1, 1, 1, 1, 1]] }),
    after: [13, 5],
  },
  {
    name: "merge with delete",
    path: (table) => `/v1/table/${table}/merge_insert`,
    params: {
      on: "id",
      when_matched_update_all: "true",
      when_not_matched_insert_all: "true",
      when_not_matched_by_source_delete: "true",
      when_not_matched_by_source_delete_filt: "id < 3",
    },
    body: () => stream({ id: [type.i32, [8, 9, 10]], n: [type.i32, [1, 1, 1]] }),
    after: [8, 3],
  },
  {
    name: "insert-only merge",
    path: (table) => `/v1/table/${table}/merge_insert`,
    params: { on: "id", when_not_matched_insert_all: "true" },
    body: () => rowsOf(9, 10, 11),
    after: [12, 0],
  },
];

/** Row count of a table and sum of n. */
export async function rowsAndSum(client: Client, table: string): Promise<[number, number]> {
  const result = await client.query(table, { k: 1_000, columns: ["n"] });
  const values = [...(result.getChild("n") ?? [])] as number[];
  return [values.length, values.reduce((sum, n) => sum + n, 0)];
}

/** Creates a table of ten rows. */
export async function createTenRows(client: Client, table: string): Promise<void> {
  await client.createTable(table, rowsOf(...Array.from({ length: 10 }, (_, id) => id)));
}
