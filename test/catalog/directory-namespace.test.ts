/**
 * Defects of the existing adapter, `RestAdapter` over `DirectoryNamespace`, and behaviour that its
 * clients depend on, as far as no other test covers it.
 */
import { readdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { emptyStream, items, type } from "../harness/arrow.js";
import type { Json } from "../harness/client.js";
import { expectFailure } from "../harness/expect-failure.js";
import { waitForIndex } from "../harness/indexes.js";
import { type S3, s3Missing, startS3 } from "../harness/s3.js";
import { type Server, startServer } from "../harness/server.js";
import { setupServer } from "../harness/setup-server.js";
import { removeDir, tempDir } from "../harness/temp.js";

const joust = setupServer();
const on = (id: string, operation: string, body?: object): Promise<Json> =>
  joust.client.ok(`/v1/table/${id}/${operation}`, body);

beforeAll(async () => {
  await joust.client.createNamespace("ns");
  await joust.client.createTable("ns$t", items(20));
});

describe("a name", () => {
  it("is rejected if it is empty, leads to another path or contains a separator", async () => {
    const { client } = joust;
    const bad = ["..", ".", "a/b", "..%2F..%2Fetc", "a%00b", "a%0Ab", "a\\b"];
    const encoded = (name: string) => (name.includes("%") ? name : encodeURIComponent(name));
    for (const name of bad) {
      for (const path of [
        // The client must not normalize the URL: the name is never a whole segment.
        `/v1/table/ns$${encoded(name)}/create`,
        `/v1/namespace/ns$${encoded(name)}/create`,
        `/v1/table/ns$${encoded(name)}/declare`,
      ]) {
        const body = path.includes("/table/") && path.endsWith("create") ? items(1) : {};
        expectFailure(await client.post(path, body), 400, 13, /name/);
      }
      const rename = { new_table_name: decodeURIComponent(encoded(name)) };
      expectFailure(await client.post("/v1/table/ns$t/rename", rename), 400, 13, /name/);
    }
    for (const path of ["/v1/table/ns$$x/create", "/v1/table/$x/create", "/v1/table/x$/create"]) {
      expectFailure(await client.post(path, items(1)), 400, 13, /empty component/);
    }
    // Nothing was written beside the root or left in it.
    const own = readdirSync(joust.root).filter((name) => !name.startsWith("."));
    expect(own).toHaveLength(1);
  });

  it("that contains a delimiter is not parsed as two names", async () => {
    const { client } = joust;
    // With another delimiter the name could contain the usual one.
    const reply = await client.post("/v1/table/ns$x:y/create?delimiter=:", items(1));
    expect([reply.status, reply.json.code]).toEqual([404, 1]);
    await client.createNamespace("a");
    await client.createTable("a$b", items(1));
    const other = await client.post("/v1/table/a$b/describe?delimiter=:");
    expectFailure(other, 404, 4);
    const rename = { new_table_name: "a$b" };
    expectFailure(await client.post("/v1/table/ns$t/rename", rename), 400, 13, /delimiter/);
    await client.ok("/v1/table/a$b/drop");
    await client.ok("/v1/namespace/a/drop");
  });
});

describe("authentication", () => {
  it("compares the whole key instead of a prefix", async () => {
    const { client, server } = joust;
    expect((await client.get("/v1/table")).status).toBe(200);
    const other = server.key.slice(0, -1) + (server.key.endsWith("A") ? "B" : "A");
    for (const key of [`${server.key}x`, server.key.slice(0, -1), other]) {
      expectFailure(await client.withKey(key).get("/v1/table"), 401, 16);
    }
    const long = server.key.padEnd(100, "x");
    expectFailure(await client.withKey(long).get("/v1/table"), 401, 16);
  });
});

describe("a table", () => {
  it("can be created from a stream without rows", async () => {
    const { client } = joust;
    const { version } = await client.createTable("ns$none", emptyStream({ id: type.i64 }));
    expect(version).toBe(1);
    expect(await client.count("ns$none")).toBe(0);
    expect((await on("ns$none", "describe")).schema.fields).toHaveLength(1);
  });

  it("takes properties from the query and from the header", async () => {
    const { client } = joust;
    const headers = { "x-lance-table-properties": '{"owner":"header","team":"a"}' };
    const params = { properties: '{"owner":"query"}', storage_options: '{"timeout":"30s"}' };
    const reply = await client.request("/v1/table/ns$owned/create", {
      body: items(1),
      headers,
      params,
    });
    expect(reply.json.properties).toEqual({ owner: "query", team: "a" });
    expect((await on("ns$owned", "describe")).properties).toEqual(reply.json.properties);
  });

  it("has a version and a schema only after its first write", async () => {
    const { client } = joust;
    await on("ns$d", "declare");
    const declared = await on("ns$d", "describe", {});
    expect(declared).not.toHaveProperty("version");
    expect(declared).not.toHaveProperty("schema");
    // A client that gets "already exists" describes the table.
    expectFailure(await client.post("/v1/table/ns$d/declare", {}), 409, 5);
    expectFailure(await client.post("/v1/table/ns$t/declare", {}), 409, 5);
    const real = await on("ns$t", "describe", {});
    expect([real.version, real.schema.fields.length]).toEqual([1, 5]);
    await client.insert("ns$d", items(1));
    const filled = await on("ns$d", "describe", {});
    expect([filled.version, filled.schema.fields.length]).toEqual([1, 5]);
  });

  it("counts live rows and not deleted rows", async () => {
    await joust.client.createTable("ns$deleted", items(10));
    await on("ns$deleted", "delete", { predicate: "id < 4" });
    const stats = await on("ns$deleted", "stats");
    expect([stats.num_rows, stats.fragment_stats.lengths.max]).toEqual([6, 6]);
  });

  it("has only the metadata of the last request", async () => {
    await on("ns$t", "schema_metadata/update", { a: "1", b: "2" });
    expect(await on("ns$t", "schema_metadata/update", { c: "3" })).toEqual({ c: "3" });
    expect((await on("ns$t", "describe")).schema.metadata).toEqual({ c: "3" });
  });
});

describe("older and newer clients", () => {
  it("can count rows and list tags by GET and by POST", async () => {
    const { client } = joust;
    await on("ns$t", "tags/create", { tag: "one", version: 1 });
    for (const method of ["GET", "POST"]) {
      const count = await client.request("/v1/table/ns$t/count_rows", { method });
      expect([method, count.json]).toEqual([method, 20]);
      const tags = await client.request("/v1/table/ns$t/tags/list", { method });
      expect(Object.keys(tags.json.tags)).toEqual(["one"]);
    }
    const some = { predicate: "id < 5", version: "1" };
    expect((await client.get("/v1/table/ns$t/count_rows", some)).json).toBe(5);
  });

  it("can read everything with the largest k", async () => {
    const result = await joust.client.query("ns$t", {
      k: 2_147_483_647,
      vector: { single_vector: [] },
    });
    expect(result.numRows).toBe(20);
  });

  it("can set the number of partitions in each form", async () => {
    const vector = { single_vector: Array(8).fill(0.5) };
    for (const probes of [
      { nprobes: 4 },
      { nprobes: 4, minimum_nprobes: 2 },
      { nprobes: 4, maximum_nprobes: 0 },
      { minimum_nprobes: 2, maximum_nprobes: 8 },
    ]) {
      expect((await joust.client.query("ns$t", { k: 3, vector, ...probes })).numRows).toBe(3);
    }
  });

  it("can merge on one key column or on several", async () => {
    const { client } = joust;
    await client.createTable("ns$merged", items(5));
    for (const on of ["on=id", "on=id&on=name"]) {
      const path = `/v1/table/ns$merged/merge_insert?${on}&when_not_matched_insert_all=true`;
      const merged = await client.ok(path, items(6));
      expect(merged.num_inserted_rows).toBe(on === "on=id" ? 1 : 0);
    }
  });

  it("can list managed versions newest first with their store paths", async () => {
    const { client } = joust;
    await client.createTable("ns$managed", items(1), {
      properties: '{"managed_versioning":"true"}',
    });
    await client.insert("ns$managed", items(1));
    expect((await on("ns$managed", "describe")).managed_versioning).toBe(true);
    const { versions } = await on("ns$managed", "version/list", { descending: true, limit: 1 });
    expect(versions.map((one: Json) => one.version)).toEqual([2]);
    const [newest] = versions;
    expect(newest.manifest_path).toMatch(/\/_versions\/\d{20}\.manifest$/);
    const described = await on("ns$managed", "version/describe", { version: 2 });
    expect(described.version).toEqual(newest);
  });

  it("get an executable plan for a text query", async () => {
    const { client } = joust;
    await client.ok("/v1/table/ns$t/create_scalar_index", { column: "name", index_type: "FTS" });
    await waitForIndex(client, "ns$t", "name_idx");
    const query = { k: 3, vector: {}, full_text_query: { string_query: { query: "item" } } };
    const plain = await on("ns$t", "explain_plan", { query: { k: 3, vector: {} } });
    const searched = await on("ns$t", "explain_plan", { query });
    expect(searched).not.toBe(plain);
    expect(searched).toMatch(/item/);
    expect(await on("ns$t", "analyze_plan", query)).toMatch(/item/);
  });
});

describe("a page of tables", () => {
  it("has a token as long as more tables follow, also in the listing over all namespaces", async () => {
    const { client } = joust;
    for (const path of ["/v1/table", "/v1/namespace/ns/table/list"]) {
      const whole = (await client.get(path)).json.tables;
      const walked: string[] = [];
      let token: string | undefined;
      do {
        const paging = { limit: "2", ...(token && { page_token: token }) };
        const reply = (await client.get(path, paging)).json;
        walked.push(...reply.tables);
        token = reply.page_token;
      } while (token);
      expect(walked).toEqual(whole);
    }
  });
});

describe.skipIf(s3Missing)("storage credentials", () => {
  let s3: S3;
  let server: Server;
  let directory: string;
  beforeAll(async () => {
    s3 = await startS3();
    directory = tempDir("credentials");
    const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, ...rest } = s3.env;
    server = await startServer({
      root: `${s3.createBucket()}/tables`,
      env: rest,
      args: [
        ...["--catalog", `${directory}/names.db`],
        ...["--storage-option", `aws_access_key_id=${AWS_ACCESS_KEY_ID}`],
        ...["--storage-option", `aws_secret_access_key=${AWS_SECRET_ACCESS_KEY}`],
        ...["--storage-option", "aws_region=us-east-1"],
      ],
    });
  });
  afterAll(async () => {
    await server?.stop();
    await s3?.stop();
    removeDir(directory);
  });

  it("appear in no response of any operation", async () => {
    const { client } = server;
    const created = await client.createTable("t", items(1));
    const replies = [
      created,
      await client.ok("/v1/table/t/describe", { vend_credentials: true, with_table_uri: true }),
      await client.ok("/v1/table/d/declare", { vend_credentials: true }),
      await client.ok("/v1/table/t/deregister"),
      await client.ok("/v1/table/t/register", { location: created.location }),
    ];
    const secret = s3.env.AWS_SECRET_ACCESS_KEY as string;
    for (const reply of replies) {
      const text = JSON.stringify(reply);
      expect(text).not.toContain(secret);
      expect(text).not.toMatch(/secret|access_key|session_token/i);
    }
    expect(created.storage_options).toEqual({ aws_region: "us-east-1" });
    expect(server.output()).not.toContain(secret);
  });
});
