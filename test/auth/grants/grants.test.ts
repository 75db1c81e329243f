import { tableFromIPC } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { tableObject } from "../../../src/catalog/grants/grants.js";
import { items } from "../../harness/arrow.js";
import { createKey } from "../../harness/cli.js";
import type { Answer, Client } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { waitForJob } from "../../harness/jobs.js";
import { startServer } from "../../harness/server.js";
import { setupServer } from "../../harness/setup-server.js";
import { waitFor } from "../../harness/wait-for.js";
import { setupGrants } from "./grant-callers.js";

const joust = setupServer();
const granted = setupGrants(joust);
const id = (name: string) => encodeURIComponent(name);

const sql = (client: Client, query: string): Promise<Answer> =>
  client.request("/v1/sql", { body: { query }, headers: { accept: "application/json" } });

beforeAll(async () => {
  const { client } = joust;
  for (const name of ["a", "a$b", "c"]) await client.createNamespace(name);
  for (const name of ["r", "s", "a$t", "a$u", "a$b$v", "c$w"]) {
    await client.createTable(name, items(3));
  }
});

describe("a caller with only a grant on one table", () => {
  let client: Client;
  beforeAll(async () => {
    ({ client } = await granted.caller({ "table:a$t": ["select"] }));
  });

  it("reads it and gets 403 with the missing privilege for other work on it", async () => {
    expect(await client.count("a$t")).toBe(3);
    expect((await client.query("a$t", { vector: {} })).numRows).toBe(3);
    const denied = await client.post(`/v1/table/${id("a$t")}/insert`, items(1));
    expectFailure(
      denied,
      403,
      15,
      /InsertIntoTable needs write, or the privilege insert on table "a\$t"$/,
    );
    const dropped = await client.post(`/v1/table/${id("a$t")}/drop`);
    expectFailure(dropped, 403, 15, /privilege drop on table "a\$t"/);
    const restored = await client.post(`/v1/table/${id("a$t")}/restore`, { version: 1 });
    expectFailure(restored, 403, 15, /privileges insert, update and delete on table "a\$t"/);
    expect(await joust.client.count("a$t")).toBe(3);
  });

  it("gets the answer for a missing object for every other one", async () => {
    for (const [hidden, missing] of [
      ["r", "zz"],
      ["a$u", "a$zz"],
      ["c$w", "c$zz"],
      ["a$b$v", "a$b$zz"],
    ] as const) {
      for (const call of ["describe", "exists", "drop", "count_rows", "index/list"]) {
        const [one, other] = await Promise.all(
          [hidden, missing].map((name) => client.post(`/v1/table/${id(name)}/${call}`)),
        );
        expect(one?.status).toBe(404);
        const anonymous = (answer: Answer | undefined, name: string) =>
          answer?.text.replaceAll(`"${name}`, '"X').replace(`/${id(name)}/`, "/X/");
        expect(anonymous(one, hidden)).toBe(anonymous(other, missing));
      }
    }
    expectFailure(await client.post("/v1/namespace/c/describe"), 404, 1, /namespace "c"/);
    expectFailure(await client.post("/v1/namespace/c/drop"), 404, 1);
    expect((await client.post("/v1/namespace/c/drop", { mode: "Skip" })).status).toBe(200);
    expect((await joust.client.post("/v1/namespace/c/exists")).status).toBe(200);
    expect((await client.post("/v1/namespace/a/exists")).status).toBe(200);
  });

  it("sees only it in listings", async () => {
    const tables = async (path: string) => (await client.get(path)).json;
    expect(await tables("/v1/table")).toEqual({ tables: ["a$t"] });
    expect(await tables("/v1/table?limit=1")).toEqual({ tables: ["a$t"] });
    expect(await tables("/v1/table/")).toEqual({ tables: [] });
    expect(await tables("/v1/namespace/a/table/list")).toEqual({ tables: ["t"] });
    expect(await tables("/v1/namespace/%24/list")).toEqual({ namespaces: ["a"] });
    expect(await tables("/v1/namespace/a/list")).toEqual({ namespaces: [] });
    expectFailure(await client.get("/v1/namespace/c/table/list"), 404, 1);
  });

  it("reads with SQL only what it may select", async () => {
    expect((await sql(client, "SELECT count(*) AS n FROM a.t")).json.rows).toEqual([{ n: 3 }]);
    for (const query of [
      "SELECT * FROM c.w",
      "SELECT * FROM a.t JOIN c.w ON a.t.id = c.w.id",
      "SELECT * FROM a.t WHERE id IN (SELECT id FROM c.w)",
      "WITH x AS (SELECT * FROM c.w) SELECT * FROM x",
    ]) {
      expectFailure(await sql(client, query), 404, 1, /namespace "c" does not exist/);
    }
    expectFailure(await sql(client, "SELECT * FROM a.u"), 404, 4, /"a\$u"/);
    expectFailure(await sql(client, "SELECT * FROM r"), 404, 4, /"r"/);
    const names = "SELECT table_schema, table_name FROM information_schema.tables";
    expect((await sql(client, names)).json.rows).toEqual([{ table_schema: "a", table_name: "t" }]);
    const schemata = await sql(client, "SELECT schema_name FROM information_schema.schemata");
    expect(schemata.json.rows).toEqual([{ schema_name: "public" }, { schema_name: "a" }]);
  });
});

describe("a SQL statement that changes something", () => {
  it("needs no other privilege than its operation", async () => {
    await joust.client.createTable("a$sql", items(5));
    const only = async (privilege: "insert" | "delete") =>
      (await granted.caller({ "table:a$sql": [privilege] })).client;
    const inserter = await only("insert");
    expect((await sql(inserter, "INSERT INTO a.sql (id) VALUES (9)")).json.rows).toEqual([
      { count: 1 },
    ]);
    expectFailure(await sql(inserter, "DELETE FROM a.sql WHERE id = 9"), 403, 15, /delete/);
    expectFailure(await sql(inserter, "INSERT INTO a.sql SELECT * FROM a.sql"), 403, 15, /select/);
    expectFailure(await sql(inserter, "INSERT INTO a.sql SELECT * FROM c.w"), 404, 1);
    const deleter = await only("delete");
    expect((await sql(deleter, "DELETE FROM a.sql WHERE id = 9")).json.rows).toEqual([
      { count: 1 },
    ]);
    expectFailure(await sql(deleter, "SELECT * FROM a.sql"), 403, 15, /select/);
    expect(await joust.client.count("a$sql")).toBe(5);
  });

  it("leaves no view behind that its caller may not put in place", async () => {
    await joust.client.createNamespace("views");
    await joust.client.createTable("views$t", items(2));
    await joust.client.ok("/v1/materialized_view/views%24old/create", {
      query: "SELECT id FROM t",
    });
    const { client } = await granted.caller({ "namespace:views": ["create", "select"] });
    const replacing = "CREATE OR REPLACE MATERIALIZED VIEW views.old AS SELECT id FROM t";
    expectFailure(await sql(client, replacing), 403, 15, /drop|manage/);
    const { tables } = (await joust.client.get("/v1/namespace/views/table/list")).json;
    expect(tables.sort()).toEqual(["old", "t"]);
    const created = await granted.caller({
      "namespace:views": ["create"],
      "table:views$t": ["select"],
    });
    const answer = await sql(
      created.client,
      "CREATE MATERIALIZED VIEW views.new AS SELECT id FROM t",
    );
    expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
  });
});

it("a refresh needs select on the sources, also of the clone of a view", async () => {
  const { client: admin } = joust;
  await admin.createNamespace("mine");
  const created = await admin.ok(`/v1/materialized_view/${id("a$seen")}/create`, {
    query: "SELECT id FROM c.w",
    with_no_data: false,
  });
  expect((await waitForJob(admin, created.job_id)).job_state).toBe("DONE");
  const { client, id: key } = await granted.caller({
    "table:a$seen": ["select"],
    "namespace:mine": ["create", "update", "select"],
  });
  const { location } = await client.ok(`/v1/table/${id("a$seen")}/describe`, {
    with_table_uri: true,
  });
  await client.ok(`/v1/table/${id("mine$copy")}/clone`, { source_location: location });
  const view = `/v1/materialized_view/${id("mine$copy")}`;
  for (const refresh of [`${view}/refresh`, `/v1/table/${id("mine$copy")}/refresh`]) {
    expectFailure(await client.post(refresh, {}), 403, 15, /select on all of its sources/);
  }
  expectFailure(await sql(client, "REFRESH MATERIALIZED VIEW mine.copy"), 403, 15);
  await granted.grants.grant(`key:${key}`, tableObject(["c", "w"]), ["select"]);
  const { job_id } = await client.ok(`${view}/refresh`, {});
  expect((await waitForJob(admin, job_id)).job_state).toBe("DONE");
});

it("metadata cannot make a table a view of a hidden table", async () => {
  await joust.client.createTable("a$forged", items(2));
  const { client } = await granted.caller({ "table:a$forged": ["select", "update"] });
  const metadata = {
    "mv.definition": JSON.stringify({ format: 1, kind: "query", query: "SELECT * FROM w" }),
    "joust.view.tables": JSON.stringify([{ name: ["w"], table: ["c", "w"] }]),
  };
  const path = `/v1/table/${id("a$forged")}/schema_metadata/update`;
  for (const caller of [client, joust.client]) {
    expectFailure(await caller.post(path, metadata), 400, 13, /`joust.view.` defines a view/);
  }
  const refresh = `/v1/materialized_view/${id("a$forged")}/refresh`;
  expectFailure(await client.post(refresh, {}), 409, 19);
  expect((await client.post(path, { owner: "a" })).status).toBe(200);
});

describe("jobs", () => {
  it("are listed, described and cancelled by the privileges on their table", async () => {
    const job = async (name: string) => {
      const body = { column: "id", index_type: "BTREE" };
      const made = await joust.client.ok(`/v1/table/${id(name)}/create_scalar_index`, body);
      await waitForJob(joust.client, made.transaction_id);
      return made.transaction_id as string;
    };
    const [visible, hidden] = [await job("a$u"), await job("c$w")];
    const { client } = await granted.caller({ "table:a$u": ["insert"] });
    const listed = await client.ok("/v1/jobs/list", {});
    expect(listed.jobs.map((one: { job_id: string }) => one.job_id)).toEqual([visible]);
    expect((await client.ok("/v1/jobs/describe", { job_id: visible })).job_state).toBe("DONE");
    const answers = [hidden, "no-such-job"].map((job_id) =>
      client.post("/v1/jobs/describe", { job_id }),
    );
    const [one, other] = await Promise.all(answers);
    expect(one?.text.replaceAll(hidden, "X")).toBe(other?.text.replaceAll("no-such-job", "X"));
    const cancelled = await client.post("/v1/jobs/cancel", { job_id: visible });
    expectFailure(cancelled, 403, 15, /privilege manage on table "a\$u"/);
    await granted.grants.grant("group:unrelated", { kind: "server" }, ["manage"]);
    expect((await client.post("/v1/jobs/cancel", { job_id: visible })).status).toBe(403);
  });
});

describe("privileges that depend on the content of a request", () => {
  it("follow the actions of a merge and the mode of an insert", async () => {
    await joust.client.createTable("a$m", items(3));
    const { client } = await granted.caller({ "table:a$m": ["insert"] });
    const merge = `/v1/table/${id("a$m")}/merge_insert?on=id&when_not_matched_insert_all=true`;
    expect((await client.post(merge, items(4))).status).toBe(200);
    const update = await client.post(`${merge}&when_matched_update_all=true`, items(4));
    expectFailure(update, 403, 15, /privilege update on/);
    const deleting = `${merge}&when_not_matched_by_source_delete=true`;
    expectFailure(await client.post(deleting, items(1)), 403, 15, /privilege delete on/);
    for (const mode of ["overwrite", "Overwrite", "OVER_WRITE", '"overwrite"']) {
      const path = `/v1/table/${id("a$m")}/insert?mode=${id(mode)}`;
      expectFailure(await client.post(path, items(1)), 403, 15, /privileges update and delete/);
    }
    expect((await client.post(`/v1/table/${id("a$m")}/insert`, items(1))).status).toBe(200);
  });

  it("need create on the namespace for a new table, and more to replace one", async () => {
    const { client } = await granted.caller({ "namespace:a": ["create"] });
    expect((await client.post(`/v1/table/${id("a$n")}/create`, items(1))).status).toBe(200);
    const again = `/v1/table/${id("a$n")}/create?mode=overwrite`;
    expectFailure(await client.post(again, items(1)), 403, 15, /insert, update and delete/);
    expectFailure(
      await client.post(`/v1/table/n/create`, items(1)),
      403,
      15,
      /create on the server/,
    );
    expectFailure(await client.post(`/v1/table/${id("c$n")}/create`, items(1)), 404, 1);
    const properties = id('{"joust.maintenance":"off"}');
    const steered = `/v1/table/${id("a$n2")}/create?properties=${properties}`;
    expectFailure(await client.post(steered, items(1)), 403, 15, /manage on namespace "a"/);
    const view = { query: "SELECT id FROM t" };
    const made = await client.post(`/v1/materialized_view/${id("a$view")}/create`, view);
    expectFailure(made, 403, 15, /privilege select/);
    const hidden = { query: 'SELECT id FROM "c$w"' };
    const refused = await client.post(`/v1/materialized_view/${id("a$view")}/create`, hidden);
    expectFailure(refused, 404, 1, /namespace "c"/);
  });

  it("need manage to move a table to another namespace, so that a move gives no privilege", async () => {
    await joust.client.createTable("a$moved", items(1));
    const privileges = ["select", "create", "drop"] as const;
    const { client, id: key } = await granted.caller({
      "namespace:a$b": privileges,
      "table:a$moved": ["drop"],
    });
    const move = (target: object) => client.post(`/v1/table/${id("a$moved")}/rename`, target);
    const away = { new_table_name: "moved", new_namespace_id: ["a", "b"] };
    expectFailure(await move(away), 403, 15, /privilege manage on table "a\$moved"/);
    expectFailure(await move({ new_table_name: "x" }), 403, 15, /create on namespace "a"/);
    const table = { kind: "table", id: ["a", "moved"] } as const;
    await granted.grants.grant(`key:${key}`, table, ["manage"]);
    expect((await move(away)).status).toBe(200);
    expect(await client.count("a$b$moved")).toBe(1);
  });

  it("apply to every object of a batch", async () => {
    const { client } = await granted.caller({ "table:a$t": ["insert", "update", "delete"] });
    const version = (path: string[]) => ({ id: path, version: 9, manifest_path: "x" });
    const batch = (...paths: string[][]) =>
      client.post("/v1/table/version/batch-create", { entries: paths.map(version) });
    expectFailure(await batch(["a", "t"], ["c", "w"]), 404, 1);
    expectFailure(await batch(["a", "t"], ["a", "u"]), 404, 4);
    expect([401, 403]).not.toContain((await batch(["a", "t"])).status);
    const operations = [{ deregister_table: { id: ["a", "t"] } }];
    const commit = await client.post("/v1/table/batch-commit", { operations });
    expectFailure(commit, 403, 15, /privilege manage on table "a\$t"/);
  });

  it("let a role with a grant do more than the role", async () => {
    const { key, id: keyId } = await createKey(joust.root, "read");
    const client = joust.client.withKey(key);
    const insert = `/v1/table/${id("a$u")}/insert`;
    expectFailure(await client.post(insert, items(1)), 403, 15, /InsertIntoTable needs write$/);
    const table = { kind: "table", id: ["a", "u"] } as const;
    await granted.grants.grant(`key:${keyId}`, table, ["insert"]);
    expect((await client.post(insert, items(1))).status).toBe(200);
    expectFailure(
      await client.post("/v1/table/r/insert", items(1)),
      403,
      15,
      /insert on table "r"/,
    );
    const all = await client.get("/v1/table");
    expect(all.json.tables).toContain("c$w");
  });
});

describe("objects that are dropped and made again", () => {
  it("have no grant of the former object; a renamed table keeps its grants", async () => {
    await joust.client.createTable("again", items(1));
    const { client } = await granted.caller({ "table:again": ["select"] });
    expect(await client.count("again")).toBe(1);
    await joust.client.ok("/v1/table/again/rename", { new_table_name: "renamed" });
    await joust.client.createTable("again", items(2));
    expect(await client.count("renamed")).toBe(1);
    expectFailure(await client.post("/v1/table/again/count_rows"), 404, 4);
    await joust.client.ok("/v1/table/renamed/drop");
    await joust.client.createTable("renamed", items(2));
    expectFailure(await client.post("/v1/table/renamed/count_rows"), 404, 4);

    await joust.client.createNamespace("space");
    const inSpace = await granted.caller({ "namespace:space": ["select"] });
    await joust.client.ok("/v1/namespace/space/drop", { behavior: "Cascade" });
    await joust.client.createNamespace("space");
    expectFailure(await inSpace.client.post("/v1/namespace/space/exists"), 404, 1);
  });
});

it("several servers and threads see a grant and a revocation of each other at once", async () => {
  const args = ["--http-threads", "2"];
  const other = await startServer({ root: joust.root, args, key: joust.server.key });
  try {
    const { client, id: key } = await granted.caller();
    const there = other.client.withKey(client.key);
    // Connections are spread over the threads.
    const everywhere = () =>
      Promise.all(
        [client, ...Array(6).fill(there)].map(async (one: Client) => {
          const answer = await one.post("/v1/table/r/count_rows");
          return answer.status;
        }),
      );
    expect(new Set(await everywhere())).toEqual(new Set([404]));
    const grant = { subject: `p:${key}`, object: 'joust_table:["r"]', privilege: "SELECT" };
    await joust.client.ok("/admin/authz/acl/add", grant);
    await waitFor("the grant is known", async () =>
      (await everywhere()).every((status) => status === 200),
    );
    expect(
      tableFromIPC((await there.post("/v1/sql", { query: "SELECT id FROM r" })).bytes).numRows,
    ).toBe(3);
    expect((await there.get("/v1/table")).json).toEqual({ tables: ["r"] });
    await joust.client.ok("/admin/authz/acl/add", { ...grant, filter: "id < 2" });
    await waitFor("the filter is known", async () => {
      const counts = Array(6)
        .fill(there)
        .map((one: Client) => one.count("r"));
      return (await Promise.all(counts)).every((count) => count === 2);
    });
    expectFailure(await there.post("/v1/table/r/stats"), 403, 15, /row filter/);
    await other.client.ok("/admin/authz/acl/delete", grant);
    await waitFor("the revocation is known", async () =>
      (await everywhere()).every((status) => status === 404),
    );
  } finally {
    await other.stop();
  }
});
