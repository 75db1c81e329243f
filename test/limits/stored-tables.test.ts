import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { expectRefusal, setupLimitedServer, variants } from "./limited-server.js";

const isFull = /the namespace \\"full\\" is full: it has 60 of 50 rows/;

describe.each(variants)("storage limits with --http %s and --http-threads %s", (http, threads) => {
  const limited = setupLimitedServer(http, threads);
  const create = (id: string, rows: number) =>
    limited.writer.ok(`/v1/table/${id}/create`, items(rows));
  const rename = (id: string, name: string, namespace?: string[]) =>
    limited.writer.post(`/v1/table/${id}/rename`, {
      new_table_name: name,
      ...(namespace && { new_namespace_id: namespace }),
    });
  const sql = (query: string) => limited.writer.post("/v1/sql", { query });

  beforeAll(async () => {
    for (const id of ["full", "full$below", "free"]) await limited.client.createNamespace(id);
    await limited.setLimits({ namespaces: { full: { rows: 50 }, free: { rows: 100 } } });
    await create("full$a", 60);
    await create("free$a", 10);
    await create("outside", 10);
  });

  it("hold for each table of a batch that creates versions", async () => {
    const version = { version: 2, manifest_path: "none.manifest" };
    const send = (...ids: string[][]) =>
      limited.writer.post("/v1/table/version/batch-create", {
        entries: ids.map((id) => ({ id, ...version })),
      });
    expectRefusal(await send(["free", "a"], ["full", "a"]), "rows", isFull);
    expect((await send(["free", "a"], ["outside"])).status).toBe(400);
  });

  it("hold for the versions of a batch commit, and for no other step of it", async () => {
    const commit = (...operations: object[]) =>
      limited.client.post("/v1/table/batch-commit", { operations });
    const version = (...id: string[]) => ({
      create_table_version: { id, version: 2, manifest_path: "none.manifest" },
    });
    const declare = { declare_table: { id: ["full", "declared"] } };
    expectRefusal(await commit(declare, version("full", "a")), "rows", isFull);
    expect((await commit(declare, version("free", "a"))).status).toBe(400);
    expect((await commit(declare)).status).toBe(200);
    const deregister = { deregister_table: { id: ["full", "declared"] } };
    const inDatabase = await limited.client
      .inDatabase("full")
      .post("/v1/table/batch-commit", { operations: [{ deregister_table: { id: ["declared"] } }] });
    expect([inDatabase.status, (await commit(deregister)).status]).toEqual([200, 404]);
  });

  it("hold for a table that moves into a namespace, and count it there at once", async () => {
    expectRefusal(await rename("outside", "moved", ["full"]), "rows", isFull);
    expectRefusal(await rename("outside", "moved", ["full", "below"]), "rows", isFull);
    expectRefusal(await sql("ALTER TABLE outside RENAME TO full.moved"), "rows", isFull);
    await create("large", 95);
    expect((await rename("large", "large", ["free"])).status).toBe(200);
    const refused = await limited.writer.post("/v1/table/free$a/insert", items(1));
    expectRefusal(refused, "rows", /the namespace \\"free\\" is full: it has 105 of 100 rows/);
    expect((await rename("free$large", "large", [])).status).toBe(200);
    expect((await limited.writer.post("/v1/table/free$a/insert", items(1))).status).toBe(200);
  });

  it("admit a table that is renamed inside a full namespace or leaves it", async () => {
    expect((await rename("full$a", "b")).status).toBe(200);
    expect((await rename("full$b", "b", ["full", "below"])).status).toBe(200);
    expect((await sql("ALTER TABLE full.below.b RENAME TO c")).status).toBe(200);
    expect((await rename("full$below$c", "left", [])).status).toBe(200);
    expect((await rename("left", "a", ["full"])).status).toBe(200);
  });

  it("hold for SQL statements that name the namespace in their text only", async () => {
    for (const query of [
      "INSERT INTO full.a SELECT * FROM full.a",
      "CREATE TABLE full.made AS SELECT * FROM outside",
      "CREATE TABLE full.below.made AS SELECT * FROM outside",
      "CREATE MATERIALIZED VIEW full.view AS SELECT id FROM outside",
      "ALTER TABLE full.a ADD COLUMN more BIGINT",
      "CREATE INDEX id_idx ON full.a USING btree (id)",
      "MERGE INTO full.a AS t USING outside AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *",
    ]) {
      const answer = await sql(query);
      expect([query, answer.status, answer.text]).toEqual([query, 429, expect.anything()]);
      expectRefusal(answer, "rows", isFull);
    }
    expect((await sql("DELETE FROM full.a WHERE id >= 60")).status).toBe(200);
    expect((await sql("INSERT INTO free.a SELECT * FROM free.a")).status).toBe(200);
  });
});
