import { beforeAll, describe, expect, it } from "vitest";
import { contract } from "../../../src/operations/index.js";
import { items, stream, type } from "../../harness/arrow.js";
import type { Json } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { waitForIndex } from "../../harness/indexes.js";
import { waitForJobResult } from "../../harness/jobs.js";
import { setupServer } from "../../harness/setup-server.js";

const joust = setupServer({ args: ["--maintenance", "off"] });
type Branch = "main" | "dev";

/** Calls an operation on a branch, with the branch in the member that its interface has. */
async function call(id: string, operation: string, branch: Branch, body: object | Uint8Array = {}) {
  const inQuery =
    body instanceof Uint8Array ||
    operation === "schema_metadata/update" ||
    operation.endsWith("/drop");
  const [path, query] = operation.split("?");
  const on = branch === "main" ? {} : { branch };
  const params = { ...Object.fromEntries(new URLSearchParams(query)), ...(inQuery ? on : {}) };
  return joust.client.post(`/v1/table/${id}/${path}`, inQuery ? body : { ...body, ...on }, params);
}
async function ok(
  id: string,
  operation: string,
  branch: Branch,
  body?: object | Uint8Array,
): Promise<Json> {
  const reply = await call(id, operation, branch, body);
  expect({ operation, status: reply.status, text: reply.text.slice(0, 300) }).toMatchObject({
    status: operation === "backfill_column" || operation === "compact" ? 202 : 200,
  });
  return reply.headers.get("content-type")?.startsWith("application/json")
    ? reply.json
    : reply.bytes;
}

/** The state of a branch in which a change may be visible. */
async function state(id: string, branch: Branch) {
  const described = await ok(id, "describe", branch);
  const { versions } = await ok(id, "version/list", branch);
  const { indexes } = await ok(id, "index/list", branch);
  const rows = await ok(id, "query", branch, { k: 1000, vector: {} });
  return {
    version: described.version,
    schema: described.schema,
    metadata: described.metadata,
    versions: versions.map((one: Json) => one.version),
    indexes: indexes.map((one: Json) => [one.index_name, one.status]),
    count: await ok(id, "count_rows", branch),
    stats: (await ok(id, "stats", branch)).num_rows,
    rows: Buffer.from(rows).toString("base64"),
  };
}

const index = { column: "price", index_type: "BTREE" };
const row = (id: number) => stream({ id: [type.i64, [BigInt(id)]], price: [type.f64, [99]] });

/** Every operation that changes a branch: the change must be visible there and only there. */
const changes: [string, string, (object | Uint8Array)?][] = [
  ["InsertIntoTable", "insert", items(2, { from: 50 })],
  ["InsertIntoTable", "insert?mode=overwrite", items(2, { from: 50 })],
  ["MergeInsertIntoTable", "merge_insert?on=id&when_matched_update_all=true", row(3)],
  ["UpdateTable", "update", { updates: [["price", "price + 1"]], predicate: "id = 1" }],
  ["DeleteFromTable", "delete", { predicate: "id = 1" }],
  ["CreateTableIndex", "create_index", index],
  ["CreateTableScalarIndex", "create_scalar_index", index],
  ["DropTableIndex", "index/name_idx/drop"],
  ["AlterTableAddColumns", "add_columns", { new_columns: [{ name: "n", expression: "1" }] }],
  ["AlterTableAlterColumns", "alter_columns", { alterations: [{ path: "price", rename: "cost" }] }],
  ["AlterTableDropColumns", "drop_columns", { columns: ["price"] }],
  [
    "UpdateFieldMetadata",
    "update_field_metadata",
    { updates: [{ path: "id", metadata: { a: "1" } }] },
  ],
  ["UpdateTableSchemaMetadata", "schema_metadata/update", { a: "1" }],
  ["AlterTableBackfillColumns", "backfill_column", { column: "twice" }],
  ["CompactTable", "compact", {}],
  ["RestoreTable", "restore", { version: 4 }],
  [
    "BatchDeleteTableVersions",
    "version/delete",
    { ranges: [{ start_version: 4, end_version: 5 }] },
  ],
];

/** A table with an index, and a branch that diverged by two inserts. */
async function forked(id: string): Promise<void> {
  await joust.client.createTable(id, items(5));
  await joust.client.ok(`/v1/table/${id}/create_scalar_index`, {
    column: "name",
    index_type: "BTREE",
  });
  await waitForIndex(joust.client, id, "name_idx");
  await joust.client.ok(`/v1/table/${id}/branches/create`, { name: "dev" });
  await ok(id, "insert", "dev", items(3, { from: 10 }));
  await ok(id, "insert", "dev", items(1, { from: 20 }));
  await ok(id, "insert", "main", items(1, { from: 30 }));
  await ok(id, "insert", "main", items(1, { from: 40 }));
  await ok(id, "insert", "main", items(1, { from: 41 }));
  await ok(id, "insert", "dev", items(1, { from: 21 }));
}

describe("a change on one branch", () => {
  const cases = changes.flatMap(([id, operation, body]) =>
    (["dev", "main"] as const).map((branch) => ({ id, branch, operation, body })),
  );
  it.each(cases)("is not visible on the other one: $operation on $branch", async (changed) => {
    const { branch, operation, body } = changed;
    const id = `t_${cases.indexOf(changed)}`;
    const other = branch === "dev" ? "main" : "dev";
    await forked(id);
    if (operation === "backfill_column") {
      const twice = { new_columns: [{ name: "twice", computed: "id * 2" }] };
      for (const each of ["dev", "main"] as const) await ok(id, "add_columns", each, twice);
    }
    const before = { here: await state(id, branch), there: await state(id, other) };
    const { job_id } = await ok(id, operation, branch, body);
    if (job_id) await waitForJobResult(joust.client, job_id);
    if (operation.startsWith("create_")) {
      await expect
        .poll(async () => (await state(id, branch)).indexes, { timeout: 20_000 })
        .toEqual([
          ["name_idx", "Ready"],
          ["price_idx", "Ready"],
        ]);
    }
    const after = { here: await state(id, branch), there: await state(id, other) };
    expect(after.there).toEqual(before.there);
    expect(after.here).not.toEqual(before.here);
  });

  it("is tested for every operation that changes a branch", () => {
    const changing = contract
      .filter(({ permission, body, params }) => {
        const schema = body.kind === "json" ? body.schema.properties : {};
        return (
          permission !== "read" &&
          ("branch" in (schema ?? {}) || "branch" in (params.properties ?? {}))
        );
      })
      .map(({ id }) => id);
    // Tag names are shared by all branches.
    const refs = ["CreateTableTag", "UpdateTableTag"];
    // Requires a manifest written by a client: see managed-versions.test.ts.
    const staged = ["CreateTableVersion"];
    expect([...new Set(changes.map(([id]) => id)), ...refs, ...staged].sort()).toEqual(
      changing.sort(),
    );
  });
});

describe("a read on a branch", () => {
  beforeAll(() => forked("t"));

  it("describes, counts and lists the state of the branch", async () => {
    const [main, dev] = [await state("t", "main"), await state("t", "dev")];
    expect([main.count, main.stats, dev.count, dev.stats]).toEqual([8, 8, 10, 10]);
    const old = { version: 3 };
    expect(await ok("t", "count_rows", "main", old)).toBe(6);
    expect(await ok("t", "count_rows", "dev", old)).toBe(8);
    expect((await ok("t", "version/describe", "dev", old)).version.manifest_path).toContain(
      "/dev/",
    );
    expect((await ok("t", "version/describe", "main", old)).version.manifest_path).not.toContain(
      "/dev/",
    );
    const count = { params: { branch: "dev" }, method: "GET" };
    expect((await joust.client.request("/v1/table/t/count_rows", count)).json).toBe(10);
  });

  it("plans and searches the rows of the branch", async () => {
    const query = { k: 100, vector: {}, filter: "id = 10" };
    for (const [branch, rows] of [
      ["main", 0],
      ["dev", 1],
    ] as const) {
      const result = await joust.client.query("t", { ...query, branch });
      expect(result.numRows).toBe(rows);
      expect(await ok("t", "analyze_plan", branch, query)).toContain(`output_rows=${rows}`);
    }
    const there = /\/tree\/dev\/|branch=dev/;
    expect(await ok("t", "explain_plan", "dev", { query })).toMatch(there);
    expect(await ok("t", "explain_plan", "main", { query })).not.toMatch(there);
  });

  it("returns the index statistics of the branch", async () => {
    const stats = (branch: Branch) => ok("t", "index/name_idx/stats", branch);
    expect(await stats("main")).toMatchObject({ num_indexed_rows: 5, num_unindexed_rows: 3 });
    expect(await stats("dev")).toMatchObject({ num_indexed_rows: 5, num_unindexed_rows: 5 });
  });

  it("resolves tags to their branch", async () => {
    await ok("t", "tags/create", "dev", { tag: "there", version: 3 });
    await ok("t", "tags/create", "main", { tag: "here", version: 3 });
    expect(await ok("t", "tags/version", "main", { tag: "there" })).toEqual({
      version: 3,
      branch: "dev",
    });
    expect(await ok("t", "tags/version", "main", { tag: "here" })).toEqual({ version: 3 });
    const described = await ok("t", "describe", "main", { tag: "there" });
    expect(described.version).toBe(3);
    await ok("t", "tags/update", "main", { tag: "there", version: 3 });
    expect(await ok("t", "tags/version", "main", { tag: "there" })).toEqual({ version: 3 });
  });

  it("separates indexes with the same name on both branches", async () => {
    await forked("both");
    await ok("both", "create_index", "dev", index);
    await ok("both", "create_index", "main", index);
    for (const branch of ["main", "dev"] as const) {
      await expect
        .poll(async () => (await state("both", branch)).indexes, { timeout: 20_000 })
        .toContainEqual(["price_idx", "Ready"]);
    }
    await ok("both", "index/price_idx/drop", "dev");
    expect((await state("both", "dev")).indexes).toEqual([["name_idx", "Ready"]]);
    expect((await state("both", "main")).indexes).toContainEqual(["price_idx", "Ready"]);
  });
});

describe("a missing branch", () => {
  beforeAll(async () => {
    await joust.client.createTable("plain", items(3));
  });
  const reads: [string, object?][] = [
    ["describe"],
    ["count_rows"],
    ["stats"],
    ["query", { k: 1, vector: {} }],
    ["explain_plan", { query: { k: 1, vector: {} } }],
    ["analyze_plan", { k: 1, vector: {} }],
    ["index/list"],
    ["index/name_idx/stats"],
    ["version/list"],
    ["version/describe", { version: 1 }],
    ["tags/create", { tag: "a", version: 1 }],
    ["tags/update", { tag: "a", version: 1 }],
  ];
  const all = [...reads, ...changes.map(([, ...rest]) => rest)] as [string, object?][];
  it.each(all)("returns 404 from %s", async (operation, body) => {
    expectFailure(await call("plain", operation, "dev", body), 404, 22, /dev/);
  });
});
