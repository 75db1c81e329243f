import { setTimeout as sleep } from "node:timers/promises";
import { random, stream, type, vectors } from "../../harness/arrow.js";
import type { Client } from "../../harness/client.js";

const DIMENSION = 64;
const words = Array.from({ length: 2_000 }, (_, word) => `word${word}`);

/** Rows `from` to `from + count`: an id, a few words, a value that updates change, a vector. */
export function rows(from: number, count: number): Uint8Array {
  const next = random(from + 1);
  const ids = Array.from({ length: count }, (_, row) => from + row);
  const text = () => Array.from({ length: 12 }, () => words[Math.floor(next() ** 2 * 2_000)]);
  return stream({
    id: [type.i64, ids.map(BigInt)],
    body: [type.text, ids.map(() => text().join(" "))],
    value: [type.i32, ids.map(() => 0)],
    vector: [type.vector(DIMENSION), vectors(count, DIMENSION, from)],
  });
}

/** The expected content of the table: ids from `first` to before `end`. */
export interface Content {
  first: number;
  end: number;
  updates: number;
  /** Updates and deletes that were rejected because of concurrent changes to the same files. */
  conflicts: number;
}

export interface Load {
  readonly client: Client;
  readonly content: Content;
  readonly stopped: () => boolean;
  /** Called with the kind and the duration of each query in ms. */
  readonly onQuery: (kind: string, ms: number) => void;
}

/** Inserts as many rows as it deletes, updates some and runs queries of each kind at a steady rate. */
export async function runLoad(load: Load): Promise<void> {
  await Promise.all([
    ...Array.from({ length: 4 }, (_, seed) => pace(load, 100, () => insert(load, seed))),
    pace(load, 1_000, () => removeOldest(load)),
    pace(load, 500, () => update(load)),
    ...Object.entries(queries).map(([kind, body], seed) => {
      const next = random(seed);
      return pace(load, 50, () => query(load, kind, body(next, load.content)));
    }),
  ]);
}

/** Runs an action every given number of ms; a slow action is not caught up. */
async function pace(load: Load, ms: number, work: () => Promise<unknown>): Promise<void> {
  while (!load.stopped()) {
    const began = performance.now();
    await work();
    await sleep(Math.max(1, ms - (performance.now() - began)));
  }
}

const BATCH = 10;

async function insert({ client, content }: Load, _seed: number): Promise<void> {
  const from = content.end;
  content.end += BATCH;
  await client.insert("t", rows(from, BATCH));
}

/** Keeps the number of rows constant. */
async function removeOldest(load: Load): Promise<void> {
  const { content } = load;
  const end = content.end - ROWS;
  if (end <= content.first) return;
  if (await change(load, "delete", { predicate: `id < ${end}` })) content.first = end;
}

async function update(load: Load): Promise<void> {
  const { content } = load;
  const id = content.first + BATCH * 20 + (content.updates % 1_000);
  const body = { updates: [["value", "value + 1"]], predicate: `id = ${id}` };
  if (await change(load, "update", body)) content.updates++;
}

/** False: nothing was changed because of a concurrent writer. */
async function change({ client, content }: Load, what: string, body: object): Promise<boolean> {
  const reply = await client.post(`/v1/table/t/${what}`, body);
  if (reply.status === 200) return true;
  if (reply.status !== 409) throw new Error(`${what} answered ${reply.status}: ${reply.text}`);
  content.conflicts++;
  return false;
}

/** The rows of the table in order. */
export const ROWS = 20_000;

const queries: Record<string, (next: () => number, content: Content) => object> = {
  vector: (next) => ({ k: 10, vector: { single_vector: Array.from({ length: DIMENSION }, next) } }),
  text: (next) => ({
    k: 10,
    vector: {},
    full_text_query: { string_query: { query: words[Math.floor(next() ** 2 * 2_000)] } },
  }),
  id: (next, { first, end }) => ({
    k: 10,
    vector: {},
    filter: `id = ${first + Math.floor(next() * (end - first))}`,
  }),
};

async function query({ client, onQuery }: Load, kind: string, body: object): Promise<void> {
  const began = performance.now();
  await client.query("t", body);
  onQuery(kind, performance.now() - began);
}
