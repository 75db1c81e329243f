/** Random tables and conditions, for the models of row filters. */
import fc from "fast-check";
import { stream, type } from "../../harness/arrow.js";
import { waitForIndex } from "../../harness/indexes.js";
import type { TestServer } from "../../harness/setup-server.js";

export const words = ["red", "green", "blue", "old", "new"];

export interface Row {
  readonly id: number;
  readonly tenant: string | null;
  readonly number: number | null;
  readonly text: string;
  readonly vector: readonly [number, number];
}

const row = fc.record({
  tenant: fc.constantFrom("a", "b", "it's", null),
  number: fc.option(fc.integer({ min: -3, max: 3 })),
  text: fc
    .array(fc.constantFrom(...words), { minLength: 1, maxLength: 4 })
    .map((all) => all.join(" ")),
  // Whole numbers, so that distances are exact.
  vector: fc.tuple(fc.integer({ min: -20, max: 20 }), fc.integer({ min: -20, max: 20 })),
});
export const rows = fc
  .array(row, { minLength: 8, maxLength: 60 })
  .map((all): Row[] => all.map((one, id) => ({ id, ...one })));

/** A condition as SQL, and its value for a row: null is unknown. */
export interface Condition {
  readonly sql: string;
  test(row: Row): boolean | null;
}

const not = (value: boolean | null) => (value === null ? null : !value);
const and = (one: boolean | null, other: boolean | null) =>
  one === false || other === false ? false : one === null || other === null ? null : true;
const or = (one: boolean | null, other: boolean | null) => not(and(not(one), not(other)));

const tenants: fc.Arbitrary<string> = fc.constantFrom("a", "b", "it's");
const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
const compare = {
  "=": (a: number, b: number) => a === b,
  "<>": (a: number, b: number) => a !== b,
  "<": (a: number, b: number) => a < b,
  ">=": (a: number, b: number) => a >= b,
} as const;

const leaf: fc.Arbitrary<Condition> = fc.oneof(
  tenants.map((one) => ({
    sql: `tenant = ${quoted(one)}`,
    test: ({ tenant }: Row) => (tenant === null ? null : tenant === one),
  })),
  fc.uniqueArray(tenants, { minLength: 1 }).map((all) => ({
    sql: `tenant IN (${all.map(quoted).join(", ")})`,
    test: ({ tenant }: Row) => (tenant === null ? null : all.includes(tenant)),
  })),
  fc.constant({ sql: "tenant IS NULL", test: ({ tenant }: Row) => tenant === null }),
  fc
    .tuple(
      fc.constantFrom("number", "id"),
      fc.constantFrom(...(Object.keys(compare) as (keyof typeof compare)[])),
      fc.integer({ min: -3, max: 30 }),
    )
    .map(([column, operator, value]) => ({
      sql: `${column} ${operator} ${value}`,
      test: (row: Row) => {
        const own = row[column as "number" | "id"];
        return own === null ? null : compare[operator](own, value);
      },
    })),
  fc.constantFrom(...words).map((word) => ({
    sql: `text LIKE '%${word}%'`,
    test: ({ text }: Row) => text.includes(word),
  })),
);

export const { condition } = fc.letrec<{ condition: Condition }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    { weight: 3, arbitrary: leaf },
    fc.tuple(tie("condition"), tie("condition")).map(([one, other]) => ({
      sql: `(${one.sql}) AND ${other.sql.includes(" OR ") ? `(${other.sql})` : other.sql}`,
      test: (row: Row) => and(one.test(row), other.test(row)),
    })),
    // Without parentheses, to meet the precedence of AND in a joined text.
    fc.tuple(leaf, leaf).map(([one, other]) => ({
      sql: `${one.sql} OR ${other.sql}`,
      test: (row: Row) => or(one.test(row), other.test(row)),
    })),
    tie("condition").map((one) => ({
      sql: `NOT (${one.sql})`,
      test: (row: Row) => not(one.test(row)),
    })),
  ),
}));

export const ipc = (all: readonly Row[]): Uint8Array =>
  stream({
    id: [type.i32, all.map(({ id }) => id)],
    tenant: [type.text, all.map(({ tenant }) => tenant)],
    number: [type.i32, all.map(({ number }) => number)],
    text: [type.text, all.map(({ text }) => text)],
    vector: [type.vector(2), all.map(({ vector }) => vector)],
  });

export const path = (name: string, call: string) => `/v1/table/${encodeURIComponent(name)}/${call}`;
let number = 0;

/** A table in the namespace `m`, of two fragments. */
export async function makeTable(
  joust: TestServer,
  all: readonly Row[],
  isIndexed: boolean,
): Promise<string> {
  number += 1;
  const name = `m$t${number}`;
  const half = Math.ceil(all.length / 2);
  await joust.client.createTable(name, ipc(all.slice(0, half)));
  if (half < all.length) await joust.client.insert(name, ipc(all.slice(half)));
  if (!isIndexed) return name;
  for (const index of [
    { column: "tenant", index_type: "BTREE" },
    { column: "text", index_type: "FTS" },
    { column: "vector", index_type: "IVF_FLAT", num_partitions: 4, distance_type: "l2" },
  ]) {
    await joust.client.ok(path(name, "create_index"), index);
    await waitForIndex(joust.client, name, `${index.column}_idx`);
  }
  return name;
}
