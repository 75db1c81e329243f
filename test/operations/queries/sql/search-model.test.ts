import type { Table } from "apache-arrow";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { random, stream, type, vectors } from "../../../harness/arrow.js";
import type { Json } from "../../../harness/client.js";
import { waitForIndex } from "../../../harness/indexes.js";
import { setupServer } from "../../../harness/setup-server.js";
import { textIndex, words } from "../text/text-tables.js";
import { sqlClient } from "./sql-client.js";

const joust = setupServer();
const { arrow } = sqlClient(joust);

const ROWS = 600;
const DIMENSION = 8;
/** Three words each, none of which an index leaves out. */
const texts = ["cat y y", "y dog y", "cat dog y", "bird y y", "cat sat mat", "dogs bark loud"];
const points = vectors(ROWS, DIMENSION, 7);
const queries = vectors(16, DIMENSION, 99);

/** Names and the kinds of their indexes: none, joust's text index, Lance's text index. */
const tables = ["plain", "indexed", "native"] as const;
/** Tags before and after the deletion of rows, and after all changes: maintenance may change scores later. */
const versions = ["before", "after", "last"] as const;

const content = (from: number, count: number) => {
  const next = random(from + 1);
  const ids = Array.from({ length: count }, (_, row) => from + row);
  return stream({
    id: [type.i64, ids.map(BigInt)],
    // Each row has another length, and so another score: the order of equal scores is undefined.
    text: [type.text, ids.map((id) => `${texts[id % texts.length]}${" x".repeat(id)}`)],
    category: [type.text, ids.map((id) => (id % 7 ? `c${id % 5}` : null))],
    price: [type.f64, ids.map(() => Math.round(1000 * next()) / 10)],
    vector: [type.vector(DIMENSION), ids.map((id) => points[id])],
  });
};

beforeAll(async () => {
  const { client } = joust;
  for (const table of tables) {
    const post = (path: string, body: object) => client.ok(`/v1/table/${table}/${path}`, body);
    await client.createTable(table, content(0, 400));
    await post("tags/create", { tag: "before", version: 1 });
    if (table !== "plain") {
      await post("create_index", { column: "vector", index_type: "IVF_FLAT", num_partitions: 4 });
      await waitForIndex(client, table, "vector_idx");
      await post("create_scalar_index", { column: "price", index_type: "BTREE" });
      await waitForIndex(client, table, "price_idx");
      const index_type = table === "indexed" ? "FTS" : "INVERTED";
      await textIndex(client, table, { column: "text", index_type });
    }
    const { version } = await post("delete", { predicate: "id % 10 = 3" });
    await post("tags/create", { tag: "after", version });
    // Rows without an index, and one more deletion.
    await client.insert(table, content(400, ROWS - 400));
    const { version: last } = await post("delete", { predicate: "id % 50 = 7" });
    await post("tags/create", { tag: "last", version: last });
  }
}, 120_000);

/** A condition in the words of SQL, which a filter of a query has too. */
const condition = fc.oneof(
  fc.integer({ min: 0, max: ROWS }).map((id) => `id < ${id}`),
  fc.integer({ min: 0, max: 100 }).map((price) => `price >= ${price}.5`),
  fc.constantFrom("c0", "c3", "none").map((category) => `category = '${category}'`),
  fc.constantFrom(
    "category IS NULL",
    "category IN ('c1', 'c2')",
    "text LIKE '%cat%' OR id % 2 = 0",
    "NOT (price BETWEEN 20 AND 60)",
    "lower(category) != 'c4'",
  ),
);
const conditions = fc.array(condition, { maxLength: 2 });
const projection = fc.subarray(["id", "text", "category", "price", "vector"], { minLength: 1 });

const search = fc.record({
  table: fc.constantFrom(...tables),
  at: fc.constantFrom(...versions),
  kind: fc.constantFrom("vector", "text", "hybrid"),
  k: fc.integer({ min: 1, max: 40 }),
  point: fc.constantFrom(...queries),
  phrase: fc.constantFrom("cat", "dog", "cat dog", "bird", "nothing"),
  options: fc.constantFrom<[string, object]>(
    ["", {}],
    [", nprobes => 1", { nprobes: 1 }],
    [", distance_type => 'cosine', bypass_vector_index => true", cosine()],
    [", refine_factor => 2", { refine_factor: 2 }],
    [", upper_bound => 0.5", { upper_bound: 0.5 }],
  ),
  conditions,
  projection,
});

function cosine() {
  return { distance_type: "cosine", bypass_vector_index: true };
}

const results: Record<string, string[]> = {
  vector: ["_distance"],
  text: ["_score"],
  hybrid: ["_distance", "_score", "_relevance_score"],
};

const plain = (rows: Table): Json[] =>
  rows.toArray().map((row) => {
    const { id, vector, ...rest } = row.toJSON();
    return {
      ...rest,
      ...(id !== undefined && { id: Number(id) }),
      ...(vector && { vector: [...vector] }),
    };
  });

describe("searches in SQL", () => {
  it("return the rows of the query operation", async () => {
    const { client } = joust;
    const versionOf = async (table: string, tag: string): Promise<number> =>
      (await client.ok(`/v1/table/${table}/tags/version`, { tag })).version;
    let found = 0;
    await fc.assert(
      fc.asyncProperty(search, async (one) => {
        const { table, at, kind, k, point, phrase, conditions, projection } = one;
        // A text search over a column without an index names the column.
        const columns = table === "plain" || at === "before" ? ["text"] : undefined;
        const [named, members] = kind === "text" ? ["", {}] : one.options;
        const name = `'${table} FOR VERSION AS OF ''${at}'''`;
        const list = columns ? `, columns => ['text']` : "";
        const call = {
          vector: `vector_search(${name}, 'vector', $1, ${k}${named})`,
          text: `text_search(${name}, '${phrase}', ${k}${list})`,
          hybrid: `hybrid_search(${name}, 'vector', $1, '${phrase}', ${k}${list}${named})`,
        }[kind] as string;
        const where =
          conditions.length > 0 ? ` WHERE ${conditions.map((c) => `(${c})`).join(" AND ")}` : "";
        const wanted = [...projection, ...(results[kind] as string[])];
        const rows = plain(
          await arrow(`SELECT ${wanted.join(", ")} FROM ${call}${where}`, {
            ...(kind !== "text" && { parameters: [point] }),
          }),
        );
        const body = {
          k,
          vector: {},
          ...(kind !== "text" && { vector: { single_vector: point }, vector_column: "vector" }),
          ...(kind !== "vector" && words(phrase, columns)),
          ...(conditions.length > 0 && { filter: conditions.map((c) => `(${c})`).join(" AND ") }),
          ...members,
          columns: { column_names: projection },
          version: await versionOf(table, at),
        };
        expect({ call, where, rows }).toEqual({
          call,
          where,
          rows: plain(await client.query(table, body)),
        });
        found += rows.length;
      }),
      { numRuns: 250 },
    );
    expect(found).toBeGreaterThan(500);
  }, 240_000);
});
