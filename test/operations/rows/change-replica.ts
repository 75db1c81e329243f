/** A replica that follows a table through its change feed, and random changes of the table. */
import { tableFromIPC } from "apache-arrow";
import fc from "fast-check";
import { expect } from "vitest";
import { items } from "../../harness/arrow.js";
import type { Client } from "../../harness/client.js";
import { waitForJobResult } from "../../harness/jobs.js";

const id = fc.nat({ max: 20 });
const rows = fc.integer({ min: 1, max: 4 });
export const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("insert" as const), rows }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("update" as const), id }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("delete" as const), id }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("merge" as const), id, rows }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("compact" as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("read" as const) }) },
);
export type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Id and price by `_rowid`. */
type Rows = Map<string, string>;

export const value = (row: { id: unknown; price: unknown }): string => `${row.id} ${row.price}`;

/** A copy of a table that knows only its change feed, for one caller. */
export class Replica {
  readonly rows: Rows = new Map();
  #cursor: string | undefined;

  constructor(
    private readonly client: Client,
    private readonly table: string,
  ) {}

  async read(): Promise<void> {
    const from = this.#cursor === undefined ? { from_version: 0 } : { cursor: this.#cursor };
    const reply = await this.client.post(`/v1/table/${this.table}/changes`, from);
    if (reply.status !== 200) throw new Error(reply.text);
    this.#cursor = reply.headers.get("x-joust-cursor") ?? undefined;
    for (const row of tableFromIPC(reply.bytes)) this.#apply(row, String(row._rowid));
  }

  #apply(row: Record<string, unknown>, key: string): void {
    // An insert of a known row, or another change of an unknown one, is a fault of the feed.
    expect([row._change, this.rows.has(key)]).toEqual([row._change, row._change !== "insert"]);
    if (row._change === "delete") this.rows.delete(key);
    else this.rows.set(key, value({ id: row.id, price: row.price }));
  }
}

/** Changes a table. `at`: the first id of new rows; no two steps have the same. */
export async function change(client: Client, table: string, step: Step, at: number): Promise<void> {
  const path = `/v1/table/${table}`;
  const predicate = (id: number) => ({ predicate: `id = ${id}` });
  if (step.do === "insert") await client.insert(table, items(step.rows, { from: at }));
  else if (step.do === "delete") await client.ok(`${path}/delete`, predicate(step.id));
  else if (step.do === "update") {
    const updates = [["price", `price + ${at}`]];
    await client.ok(`${path}/update`, { ...predicate(step.id), updates });
  } else if (step.do === "merge") {
    await client.ok(`${path}/merge_insert`, items(step.rows, { from: step.id, seed: at + 2 }), {
      on: "id",
      when_matched_update_all: "true",
      when_not_matched_insert_all: "true",
    });
  } else if (step.do === "compact") {
    await waitForJobResult(client, (await client.ok(`${path}/compact`, {})).job_id);
  }
}

/** The rows of a table as a replica of that caller should have them, sorted. */
export async function expectedRows(client: Client, table: string): Promise<[string, string][]> {
  const result = await client.query(table, { k: 1000, vector: {}, with_row_id: true });
  return [...result]
    .map((row): [string, string] => [String(row._rowid), value({ id: row.id, price: row.price })])
    .sort();
}
