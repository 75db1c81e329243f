import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { items, stream, type } from "../harness/arrow.js";
import type { Json } from "../harness/client.js";
import { setupServer } from "../harness/setup-server.js";

const joust = setupServer();
const seed = Number(process.env.TEST_SEED ?? Date.now() % 1_000_000);

/** Connections that read at once after each response, in both dialects. */
const READERS = 6;

const on = (id: string, operation: string, body: object = {}): Promise<Json> =>
  joust.client.ok(`/v1/table/${id}/${operation}`, body);

/** Reads from many connections at once: each must see the acknowledged change. */
const everywhere = (read: (slash: string) => Promise<void>): Promise<unknown> =>
  Promise.all(Array.from({ length: READERS }, (_, at) => read(at % 2 === 0 ? "" : "/")));

const row = (id: number, price: number) => ({
  id: [type.i64, [BigInt(id)]] as const,
  price: [type.f64, [price]] as const,
});

/** A change to the rows of a table, and its effect on their prices by id. */
interface Change {
  name: string;
  body: object | Uint8Array;
  params?: Record<string, string>;
  apply(rows: Map<number, number>): void;
}

const id = fc.nat(7);
const price = fc.nat(5);
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(id, price).map(([id, price]) => ({
    name: "merge_insert",
    body: stream(row(id, price)),
    params: { on: "id", when_matched_update_all: "true", when_not_matched_insert_all: "true" },
    apply: (rows: Map<number, number>) => rows.set(id, price),
  })),
  fc.tuple(id, price).map(([id, price]) => ({
    name: "insert",
    body: stream(row(id, price)),
    params: { mode: "overwrite" },
    apply: (rows: Map<number, number>) => {
      rows.clear();
      rows.set(id, price);
    },
  })),
  fc.tuple(price, price).map(([from, to]) => ({
    name: "update",
    body: { predicate: `price = ${from}`, updates: [["price", `${to}.0`]] },
    apply: (rows: Map<number, number>) => {
      for (const [id, now] of rows) if (now === from) rows.set(id, to);
    },
  })),
  id.map((id) => ({
    name: "delete",
    body: { predicate: `id = ${id}` },
    apply: (rows: Map<number, number>) => rows.delete(id),
  })),
);

describe("a completed change", () => {
  it(`of rows is visible to every read on any connection (TEST_SEED=${seed})`, async () => {
    await joust.client.createTable("rows", stream(row(0, 0)));
    const rows = new Map([[0, 0]]);
    await fc.assert(
      fc.asyncProperty(change, async ({ name, body, params, apply }) => {
        const { version } = await joust.client.ok(`/v1/table/rows/${name}`, body, params);
        apply(rows);
        const expected = [...rows].sort(([a], [b]) => a - b);
        await everywhere(async (slash) => {
          const [count, result, stats, described, versions] = await Promise.all([
            on("rows", `count_rows${slash}`),
            joust.client.query("rows", { k: 100, vector: {} }),
            on("rows", `stats${slash}`),
            on("rows", `describe${slash}`),
            on("rows", `version/list${slash}`),
          ]);
          const seen = result.toArray().map(({ id, price }) => [Number(id), price]);
          expect(seen.sort(([a], [b]) => a - b)).toEqual(expected);
          expect([count, stats.num_rows]).toEqual([rows.size, rows.size]);
          // An operation without a matching row creates no version.
          expect(described.version).toBe(version);
          expect(versions.versions.at(-1).version).toBe(version);
        });
      }),
      { seed, numRuns: 40 },
    );
  }, 120_000);

  beforeAll(async () => {
    await joust.client.createTable("t", items(20));
    await joust.client.insert("t", items(5, { from: 20 }));
  });

  const columns = async (): Promise<string[]> =>
    (await on("t", "describe")).schema.fields.map((field: Json) => field.name);
  const exists = async (kind: string, id: string): Promise<number> =>
    (await joust.client.post(`/v1/${kind}/${id}/exists`)).status;
  const indexes = async (): Promise<string[]> =>
    (await on("t", "index/list")).indexes.map((index: Json) => index.index_name);

  /** The changes in order, and what each read must return. */
  const changes: [
    operation: string,
    change: () => Promise<unknown>,
    read: () => Promise<unknown>,
    shows: unknown,
  ][] = [
    [
      "CreateNamespace",
      () => joust.client.createNamespace("n"),
      () => exists("namespace", "n"),
      200,
    ],
    [
      "CreateTable",
      () => joust.client.createTable("n$a", items(3)),
      () => on("n$a", "count_rows"),
      3,
    ],
    [
      "RenameTable",
      () => on("n$a", "rename", { new_table_name: "b" }),
      async () => [await exists("table", "n$a"), await exists("table", "n$b")],
      [404, 200],
    ],
    [
      "DeclareTable",
      () => on("n$d", "declare"),
      async () => (await joust.client.get("/v1/namespace/n/table/list")).json.tables,
      ["b", "d"],
    ],
    [
      "DeregisterTable",
      () => on("n$d", "deregister"),
      async () =>
        (await joust.client.get("/v1/table")).json.tables.filter((one: string) =>
          one.startsWith("n$"),
        ),
      ["n$b"],
    ],
    ["DropTable", () => on("n$b", "drop"), () => exists("table", "n$b"), 404],
    [
      "DropNamespace",
      () => joust.client.ok("/v1/namespace/n/drop"),
      () => exists("namespace", "n"),
      404,
    ],
    [
      "AlterTableAddColumns",
      () => on("t", "add_columns", { new_columns: [{ name: "twice", expression: "price * 2" }] }),
      columns,
      ["id", "name", "category", "price", "vector", "twice"],
    ],
    [
      "AlterTableAlterColumns",
      () => on("t", "alter_columns", { alterations: [{ path: "twice", rename: "double" }] }),
      columns,
      ["id", "name", "category", "price", "vector", "double"],
    ],
    [
      "AlterTableDropColumns",
      () => on("t", "drop_columns", { columns: ["double"] }),
      columns,
      ["id", "name", "category", "price", "vector"],
    ],
    [
      "UpdateFieldMetadata",
      () =>
        on("t", "update_field_metadata", { updates: [{ path: "id", metadata: { unit: "x" } }] }),
      async () => (await on("t", "describe")).schema.fields[0].metadata.unit,
      "x",
    ],
    [
      "UpdateTableSchemaMetadata",
      () => on("t", "schema_metadata/update", { a: "1" }),
      async () => (await on("t", "describe")).schema.metadata,
      { a: "1" },
    ],
    [
      "CreateTableTag",
      () => on("t", "tags/create", { tag: "one", version: 1 }),
      () => on("t", "tags/version", { tag: "one" }),
      { version: 1 },
    ],
    [
      "UpdateTableTag",
      () => on("t", "tags/update", { tag: "one", version: 2 }),
      async () => (await on("t", "describe", { tag: "one" })).version,
      2,
    ],
    [
      "DeleteTableTag",
      () => on("t", "tags/delete", { tag: "one" }),
      async () => (await on("t", "tags/list")).tags,
      {},
    ],
    [
      "CreateTableBranch",
      () => on("t", "branches/create", { name: "dev" }),
      () => on("t", "count_rows", { branch: "dev" }),
      25,
    ],
    [
      "InsertIntoTable",
      () => joust.client.insert("t", items(5), { branch: "dev" }),
      () => on("t", "count_rows", { branch: "dev" }),
      30,
    ],
    [
      "DeleteTableBranch",
      () => on("t", "branches/delete", { name: "dev" }),
      async () => (await on("t", "branches/list")).branches,
      {},
    ],
    [
      "CreateTableScalarIndex",
      () => on("t", "create_scalar_index", { column: "id", index_type: "BTREE" }),
      indexes,
      ["id_idx"],
    ],
    ["DropTableIndex", () => on("t", "index/id_idx/drop"), indexes, []],
    ["RestoreTable", () => on("t", "restore", { version: 1 }), () => on("t", "count_rows"), 20],
    [
      "BatchDeleteTableVersions",
      () => on("t", "version/delete", { ranges: [{ start_version: 1, end_version: 2 }] }),
      async () => (await joust.client.post("/v1/table/t/exists", { version: 1 })).status,
      404,
    ],
    [
      "BatchCommitTables",
      () =>
        joust.client.ok("/v1/table/batch-commit", {
          operations: [{ declare_table: { id: ["e"] } }],
        }),
      () => exists("table", "e"),
      200,
    ],
  ];

  it.each(changes)(
    "by %s is visible to every read on any connection",
    async (_, change, read, shows) => {
      await change();
      await everywhere(async () => {
        expect(await read()).toEqual(shows);
      });
    },
  );
});
