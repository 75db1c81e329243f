import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { items, stream, type, vectors } from "../harness/arrow.js";
import { eventually } from "../harness/eventually.js";
import { type S3, s3Missing, startS3 } from "../harness/s3.js";
import { type Server, startServer } from "../harness/server.js";
import { removeDir, tempDir } from "../harness/temp.js";

if (s3Missing) console.log(`skipped: tests on S3; ${s3Missing}`);

describe.skipIf(s3Missing)("a root in a bucket", () => {
  let s3: S3;
  let root: string;
  let directory: string;
  let server: Server;

  /** The catalog of a remote root is a file of the server's host. */
  const start = () =>
    startServer({ root, env: s3.env, args: ["--catalog", `${directory}/names.db`] });

  beforeAll(async () => {
    s3 = await startS3();
    root = `${s3.createBucket()}/tables`;
    directory = tempDir("s3-catalog");
    server = await start();
  });
  afterAll(async () => {
    await server?.stop();
    await s3?.stop();
    removeDir(directory);
  });

  it("takes tables, rows, queries, indexes and drops", async () => {
    const { client } = server;
    const { location } = await client.createTable("items", items(400));
    expect(location).toBe(`${root}/items.lance`);
    await client.insert("items", items(100, { from: 400 }));
    expect(await client.count("items")).toBe(500);

    const [vector] = vectors(1, 8);
    await client.ok("/v1/table/items/create_index", {
      column: "vector",
      index_type: "IVF_FLAT",
      distance_type: "l2",
      num_partitions: 4,
    });
    await client.ok("/v1/table/items/create_scalar_index", { column: "id", index_type: "BTREE" });
    await eventually("both indexes are ready", async () => {
      const { indexes } = await client.ok("/v1/table/items/index/list");
      return (
        indexes.length === 2 &&
        indexes.every(({ status }: { status: string }) => status === "Ready")
      );
    });

    const nearest = await client.query("items", {
      vector: { single_vector: vector },
      k: 3,
      nprobes: 4,
      filter: "id < 450",
      prefilter: true,
    });
    expect(nearest.get(0)?.id).toBe(0n);
    expect(nearest.numRows).toBe(3);

    await client.ok("/v1/table/items/delete", { predicate: "id >= 250" });
    expect(await client.count("items")).toBe(250);
    await client.ok("/v1/table/items/drop");
    expect((await client.post("/v1/table/items/describe")).status).toBe(404);
  });

  it("keeps names and rows over a restart, and a rename moves nothing", async () => {
    await server.client.createNamespace("team");
    const { location } = await server.client.createTable("team$kept", items(20));
    await server.client.ok("/v1/table/team$kept/rename", { new_table_name: "renamed" });
    expect(await server.stop()).toBe(0);
    server = await start();
    expect(await server.client.count("team$renamed")).toBe(20);
    const described = await server.client.ok("/v1/table/team$renamed/describe");
    expect(described.location).toBe(location);
  });

  it("gives a table that another server wrote there to a new one", async () => {
    await server.client.createTable("shared", items(30));
    const other = await startServer({
      root,
      env: s3.env,
      args: ["--catalog", `${directory}/other.db`],
    });
    try {
      expect(await other.client.count("shared")).toBe(30);
      // A commit of the one is what the other answers from at once.
      await other.client.insert("shared", items(5, { from: 30 }));
      expect(await server.client.count("shared")).toBe(35);
    } finally {
      await other.stop();
    }
  });

  it("leaves neither name nor files of a create that fails", async () => {
    const broken = stream({ id: [type.i64, [1n, 2n]] }).subarray(0, 200);
    const answer = await server.client.post("/v1/table/broken/create", broken);
    expect(answer.status).toBe(400);
    expect((await server.client.post("/v1/table/broken/describe")).status).toBe(404);
    await server.client.createTable("broken", items(3));
    expect(await server.client.count("broken")).toBe(3);
  });

  it("is refused at the start, in one sentence, when it cannot be reached", async () => {
    const nowhere = { ...s3.env, AWS_ENDPOINT: "http://127.0.0.1:9" };
    const args = ["--catalog", `${directory}/nowhere.db`];
    const failure = await startServer({ root, env: nowhere, args, timeoutMs: 60_000 }).catch(
      String,
    );
    expect(failure).toMatch(/ended with code 1 before it was ready\njoust: [^\n]+\n/);
  }, 90_000);
});
