import { tableFromIPC } from "apache-arrow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { items, random, stream, type } from "../harness/arrow.js";
import { runCli } from "../harness/cli.js";
import { waitForIndex } from "../harness/indexes.js";
import { type Server, startServer } from "../harness/server.js";
import { removeDir, tempDir } from "../harness/temp.js";

const maintain = (...args: string[]) => runCli(["maintain", ...args], { timeoutMs: 60_000 });

/** A server without maintenance. */
const serve = (root: string) => startServer({ root, args: ["--maintenance", "off"] });

/** One indexed fragment and 20 unindexed ones: compaction does not merge the two kinds. */
async function createFragmentedTable(
  server: Server,
  table: string,
  properties = "{}",
): Promise<void> {
  const { client } = server;
  await client.createTable(table, items(300), { properties });
  await client.ok(`/v1/table/${table}/create_scalar_index`, { column: "id", index_type: "BTREE" });
  await waitForIndex(client, table, "id_idx");
  for (let n = 0; n < 20; n++) await client.insert(table, items(2, { from: 1_000 + 2 * n }));
}

const stats = async (server: Server, table: string) => ({
  fragments: (await server.client.ok(`/v1/table/${table}/stats`)).fragment_stats.num_fragments,
  unindexed: (await server.client.ok(`/v1/table/${table}/index/id_idx/stats`)).num_unindexed_rows,
  rows: await server.client.count(table),
});

describe("joust maintain", () => {
  let root: string;
  let server: Server;
  beforeAll(async () => {
    root = tempDir("maintain");
    server = await serve(root);
  });
  afterAll(async () => {
    await server?.stop();
    removeDir(root);
  });

  it("maintains one table while a server runs and prints what it did", async () => {
    await createFragmentedTable(server, "one");
    await createFragmentedTable(server, "left");
    const before = await stats(server, "one");
    expect(before).toEqual({ fragments: 21, unindexed: 40, rows: 340 });
    const reported = await maintain(root, "--table", "one", "--keep-versions", "0s");
    expect(reported).toMatchObject({ code: 0, err: "" });
    expect(reported.out).toMatch(
      /^one: 20 fragments became 1; optimized indices: id_idx; removed \d+ old versions, \d+ bytes\n$/,
    );
    expect(await stats(server, "one")).toEqual({ fragments: 2, unindexed: 0, rows: 340 });
    expect(await stats(server, "left")).toEqual(before);
    expect(await server.client.count("one", { predicate: "id = 1039" })).toBe(1);
    const { jobs } = await server.client.ok("/v1/jobs/list", {});
    const kinds = jobs.filter((job: { table: string }) => job.table === "one");
    expect(kinds.map((job: { job_type: string }) => job.job_type)).toEqual(
      expect.arrayContaining(["maintenance", "clean_up"]),
    );
  });

  it("keeps versions that a running server still reads, until the read ends", async () => {
    const { client } = server;
    const next = random(1);
    const numbers = () => Array.from({ length: 200_000 }, next);
    const columns = ["a", "b", "c", "d", "e"];
    const rows = () =>
      stream(Object.fromEntries(columns.map((name) => [name, [type.f64, numbers()] as const])));
    await client.createTable("read", rows());
    // More data than the socket buffers hold while the client does not read.
    for (let n = 1; n < 6; n++) await client.insert("read", rows());
    const answer = await fetch(`${client.url}/v1/table/read/query`, {
      method: "POST",
      headers: { authorization: `Bearer ${client.key}`, "content-type": "application/json" },
      body: JSON.stringify({ k: 2 ** 31 - 1, vector: { single_vector: [] } }),
    });
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    const parts = [(await reader.read()).value as Uint8Array];
    await client.createTable("read", items(3), { mode: "overwrite" });

    const clean = () => maintain(root, "--table", "read", "--keep-versions", "0s");
    expect(await clean()).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^read: removed 5 old versions, \d+ bytes; retained 1 old versions/,
      ),
    });
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value);
    }
    expect(tableFromIPC(Buffer.concat(parts)).numRows).toBe(6 * 200_000);
    expect((await clean()).out).toMatch(/^read: removed 1 old versions, [1-9]\d+ bytes\n$/);
    expect(await client.count("read")).toBe(3);
  });

  it("maintains all tables of an unserved root except tables whose property disables it", async () => {
    await createFragmentedTable(server, "own", '{"joust.maintenance":"off"}');
    await server.client.createNamespace("space");
    await createFragmentedTable(server, "space$inner");
    await server.stop();
    const reported = await maintain(root);
    expect(reported).toMatchObject({ code: 0, err: "" });
    expect(reported.out.trim().split("\n").sort()).toEqual([
      "left: 20 fragments became 1; optimized indices: id_idx",
      "one: nothing to do",
      "own: skipped: the property joust.maintenance disables maintenance",
      "read: nothing to do",
      "space$inner: 20 fragments became 1; optimized indices: id_idx",
    ]);
    expect((await maintain(root, "--table=own")).out).toMatch(/^own: 20 fragments became 1/);
    server = await serve(root);
    for (const table of ["left", "own", "space$inner"]) {
      expect(await stats(server, table)).toEqual({ fragments: 2, unindexed: 0, rows: 340 });
    }
  });

  it("prints an error if the table does not exist", async () => {
    const reported = await maintain(root, "--table", "none");
    expect(reported).toMatchObject({ code: 1, out: "" });
    expect(reported.err).toMatch(/^joust: [^\n]*none[^\n]*\n$/);
  });
});
