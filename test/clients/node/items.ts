import type { Connection, Table } from "@lancedb/lancedb";

export const DIMENSION = 16;

export interface Item extends Record<string, unknown> {
  id: number;
  name: string;
  category: string;
  price: number;
  vector: number[];
}

/** Rows with distinct vectors: each row is its own nearest neighbor. */
export function items(count: number, from = 0): Item[] {
  return Array.from({ length: count }, (_, offset) => {
    const id = from + offset;
    const vector = Array.from({ length: DIMENSION }, (_, d) => Math.fround(Math.sin(id * (d + 1))));
    return { id, name: `item ${id}`, category: `c${id % 5}`, price: id / 2, vector };
  });
}

export function vectorOf(id: number): number[] {
  return (items(1, id)[0] as Item).vector;
}

/** The ids of the rows among `all` that are nearest to `id`, by l2, the nearest first. */
export function nearest(all: Item[], id: number, count: number): number[] {
  const near = vectorOf(id);
  const distance = ({ vector }: Item) =>
    vector.reduce((sum, value, d) => sum + (value - (near[d] as number)) ** 2, 0);
  return all
    .map((item) => [distance(item), item.id] as const)
    .sort(([a], [b]) => a - b)
    .slice(0, count)
    .map(([, id]) => id);
}

/** The `id` of all rows, sorted. */
export async function ids(table: Table): Promise<number[]> {
  return sorted(await table.query().select(["id"]).toArray());
}

export function sorted(rows: { id: number }[]): number[] {
  return rows.map(({ id }) => Number(id)).sort((a, b) => a - b);
}

let made = 0;

/** Creates a table of these items under an unused name. */
export function newTable(database: Connection, rows: Item[]): Promise<Table> {
  return database.createTable(`table_${made++}`, rows);
}
