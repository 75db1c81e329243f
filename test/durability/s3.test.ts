import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { items, stream, type, vectors } from "../harness/arrow.js";
import { expectFailure } from "../harness/expect-failure.js";
import { s3Missing } from "../harness/s3.js";
import { setupBucketServer } from "../harness/setup-bucket-server.js";
import { waitFor } from "../harness/wait-for.js";

if (s3Missing) console.log(`skipped: tests on S3; ${s3Missing}`);

describe.skipIf(s3Missing)("a root in a bucket", () => {
  const joust = setupBucketServer();

  it("serves tables, rows, queries, indexes and drops", async () => {
    const { client } = joust.server;
    const { location } = await client.createTable("items", items(400));
    expect(location).toBe(`${joust.root}/items.lance`);
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
    await waitFor("both indexes are ready", async () => {
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

  it("keeps names and rows over a restart, and rename moves no objects", async () => {
    await joust.server.client.createNamespace("team");
    const { location } = await joust.server.client.createTable("team$kept", items(20));
    await joust.server.client.ok("/v1/table/team$kept/rename", { new_table_name: "renamed" });
    expect(await joust.restart()).toBe(0);
    expect(await joust.server.client.count("team$renamed")).toBe(20);
    const described = await joust.server.client.ok("/v1/table/team$renamed/describe");
    expect(described.location).toBe(location);
  });

  it("creates a new table beside files that another server left at its location", async () => {
    await joust.server.client.createTable("shared", items(30));
    const other = await joust.start("other");
    try {
      expect(await other.client.count("shared")).toBe(30);
      // The other server answers from the commit at once.
      await other.client.insert("shared", items(5, { from: 30 }));
      expect(await joust.server.client.count("shared")).toBe(35);
    } finally {
      await other.stop();
    }
  });

  it("rejects writes to a branch that another server deleted, also after it was created again", async () => {
    const { client } = joust.server;
    await client.createTable("branched", items(2));
    const path = "/v1/table/branched";
    for (const name of ["a", "a/b"]) await client.ok(`${path}/branches/create`, { name });
    await client.insert("branched", items(3, { from: 2 }), { branch: "a" });
    const other = await joust.start("brancher");
    try {
      await other.client.ok(`${path}/branches/delete`, { name: "a" });
      const late = await client.post(`${path}/insert`, items(1), { branch: "a" });
      expectFailure(late, 404, 22, /branch/);
      expect(Object.keys((await client.ok(`${path}/branches/list`)).branches)).toEqual(["a/b"]);
      await other.client.ok(`${path}/branches/create`, { name: "a" });
      for (const one of [client, other.client]) {
        expect(await one.count("branched", { branch: "a" })).toBe(2);
        expect(await one.count("branched", { branch: "a/b" })).toBe(2);
      }
    } finally {
      await other.stop();
    }
  });

  it("rejects locations that contain objects, and drop removes only the objects of the table", async () => {
    const { client } = joust.server;
    const objects = (...parts: string[]) => join(joust.directory, ...parts);
    const put = (path: string) => {
      mkdirSync(dirname(objects(path)), { recursive: true });
      writeFileSync(objects(path), "mine");
    };
    const declare = (location: string) => client.post("/v1/table/taker/declare", { location });
    put("backups/2026/dump.sql");
    expectFailure(await declare("backups"), 400, 13, /location.*empty/);
    await client.createTable("owned", items(3));
    await client.ok("/v1/table/owned/deregister");
    expectFailure(await declare("owned.lance"), 409, 5, /location/);
    expectFailure(await declare("owned.lance/deep/er"), 409, 5, /location/);
    expectFailure(await client.post("/v1/table/taker/drop"), 404, 4);

    put("named.lance/notes.txt");
    const { location } = await client.createTable("named", items(3));
    expect(location).not.toBe(`${joust.root}/named.lance`);
    const directory = objects(location.slice(joust.root.length + 1));
    writeFileSync(join(directory, "notes.txt"), "mine");
    await client.ok("/v1/table/named/drop");
    expect(readdirSync(directory)).toEqual(["notes.txt"]);
    expect(readdirSync(objects("named.lance"))).toEqual(["notes.txt"]);

    // A lookup of a missing name scans the root and takes neither as a table.
    await sleep(1_100);
    expectFailure(await client.post("/v1/table/named/describe"), 404, 4);
    expect((await client.get("/v1/table")).json.tables).not.toContain("named");
    expect(existsSync(objects("backups/2026/dump.sql"))).toBe(true);
  });

  it("contains neither a name nor objects of a failed create", async () => {
    const broken = stream({ id: [type.i64, [1n, 2n]] }).subarray(0, 200);
    const answer = await joust.server.client.post("/v1/table/broken/create", broken);
    expect(answer.status).toBe(400);
    expect((await joust.server.client.post("/v1/table/broken/describe")).status).toBe(404);
    await joust.server.client.createTable("broken", items(3));
    expect(await joust.server.client.count("broken")).toBe(3);
  });

  it("that cannot be reached ends the start with one sentence", async () => {
    const nowhere = { AWS_ENDPOINT: "http://127.0.0.1:9" };
    const failure = await joust.start("nowhere", nowhere).catch(String);
    // The log has the attempts of the store's client.
    expect(failure).toMatch(/ended with code 1 before it was ready\n(?:\{.+\}\n)*joust: .+\n$/);
  }, 90_000);
});
