import { readdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { createKey, runCli } from "../harness/cli.js";
import { type Server, startServer } from "../harness/server.js";
import { waitFor } from "../harness/wait-for.js";
import { type Connection, connections } from "./connections.js";

/** So many that every thread gets a connection, except once in millions of runs. */
const CONNECTIONS = 24;

describe.runIf(process.platform === "linux")("a server with two threads", () => {
  let server: Server;
  let each: Connection[];
  beforeAll(async () => {
    server = await startServer({ args: ["--http-threads", "2", "--log-level", "debug"] });
    each = connections(server, CONNECTIONS);
  });
  afterAll(async () => {
    for (const connection of each) connection.close();
    expect(await server.stop()).toBe(0);
  });

  const onAll = (path: string, body?: object) =>
    Promise.all(each.map((connection) => connection.post(path, body)));
  const expectAll = async (path: string, status: number) => {
    const replies = await onAll(path);
    expect(replies.map((reply) => reply.status)).toEqual(each.map(() => status));
    return replies;
  };

  it("distributes connections over its threads", async () => {
    await expectAll("/v1/namespace/$/list", 200);
    const lines = server.output().split("\n");
    const requests = lines.filter((line) => line.includes('"msg":"request"'));
    const others = requests.filter((line) => line.includes('"thread":"joust-http-2"'));
    expect(others.length).toBeGreaterThan(0);
    expect(others.length).toBeLessThan(requests.length);
  });

  it("shows each thread's changes to all threads at once", async () => {
    for (const [n, writer] of each.entries()) {
      const path = `/v1/table/t${n}`;
      await expectAll(`${path}/describe`, 404);
      expect((await writer.post(`${path}/create`, items(3))).status).toBe(200);
      await expectAll(`${path}/describe`, 200);
      expect((await writer.post(`${path}/insert`, items(2, { from: 3 }))).status).toBe(200);
      const counts = await expectAll(`${path}/count_rows`, 200);
      expect(counts.map(({ json }) => json)).toEqual(each.map(() => 5));
      const described = await expectAll(`${path}/describe`, 200);
      expect(described.map(({ json }) => json.version)).toEqual(each.map(() => 2));

      expect((await writer.post(`${path}/rename`, { new_table_name: `u${n}` })).status).toBe(200);
      await expectAll(`${path}/exists`, 404);
      await expectAll(`/v1/table/u${n}/exists`, 200);

      const next = each[(n + 1) % each.length] as Connection;
      expect((await next.post(`/v1/table/u${n}/drop`)).status).toBe(200);
      await expectAll(`/v1/table/u${n}/describe`, 404);
    }
  });

  it("replaces a part of an upload and aborts the upload in every thread", async () => {
    const [first] = each as [Connection];
    expect((await first.post("/v1/table/parts/create", items(1))).status).toBe(200);
    for (const connection of each) {
      const begun = await connection.post("/v1/table/parts/multipart_write/create");
      const { upload_id } = begun.json;
      const query = `upload_id=${upload_id}`;
      const part = `/v1/table/parts/insert?${query}&upload_part_id=a`;
      for (const rows of [2, 3]) {
        expect((await connection.post(part, items(rows))).json).toMatchObject({
          num_inserted_rows: rows,
        });
      }
      const aborted = await connection.post(`/v1/table/parts/multipart_write/abort?${query}`);
      expect(aborted).toEqual({ status: 200, json: {} });
    }
    expect((await first.post("/v1/table/parts/drop")).status).toBe(200);
  });

  it("distinguishes a table from the former table with the same name", async () => {
    for (let n = 0; n < 6; n++) {
      const [writer, dropper] = [each[n], each[n + 6]] as [Connection, Connection];
      expect((await writer.post("/v1/table/again/create", items(n + 1))).status).toBe(200);
      const counts = await expectAll("/v1/table/again/count_rows", 200);
      expect(counts.map(({ json }) => json)).toEqual(each.map(() => n + 1));
      expect((await dropper.post("/v1/table/again/drop")).status).toBe(200);
    }
  });

  it("loses no row of concurrent inserts on all threads and commits them together", async () => {
    await each[0]?.post("/v1/table/busy/create", items(1));
    const written = await Promise.all(
      each.flatMap((connection, n) =>
        Array.from({ length: 8 }, (_, round) =>
          connection.post("/v1/table/busy/insert", items(1, { from: 1 + n * 8 + round })),
        ),
      ),
    );
    expect(written.map(({ status }) => status)).toEqual(written.map(() => 200));
    const rows = 1 + written.length;
    const counts = await expectAll("/v1/table/busy/count_rows", 200);
    expect(counts.map(({ json }) => json)).toEqual(each.map(() => rows));
    const versions = new Set(written.map(({ json }) => json.version));
    expect(versions.size).toBeLessThan(written.length);
  });

  it("ends the writes of all threads before it removes the files of a dropped table", async () => {
    for (let round = 0; round < 4; round++) {
      await each[0]?.post("/v1/table/going/create", items(1));
      const inserts = each.map((connection, n) =>
        connection.post("/v1/table/going/insert", items(50, { from: n * 50 })),
      );
      const dropped = each[round]?.post("/v1/table/going/drop");
      for (const { status } of await Promise.all(inserts)) expect([200, 404]).toContain(status);
      expect((await dropped)?.status).toBe(200);
      await expectAll("/v1/table/going/exists", 404);
      expect(readdirSync(server.root)).not.toContain("going.lance");
    }
  });

  it("rejects a revoked key on all threads", async () => {
    const { key, id } = await createKey(server.root);
    const statuses = async () => {
      const asked = each.map((connection) => connection.post("/v1/namespace/$/list", {}, key));
      return (await Promise.all(asked)).map(({ status }) => status);
    };
    expect(await statuses()).toEqual(each.map(() => 200));
    await runCli(["key", "revoke", id, server.root]);
    expect(await statuses()).toEqual(each.map(() => 401));
  });

  it("runs a job once, whichever thread receives the request", async () => {
    await each[0]?.post("/v1/table/indexed/create", items(300));
    const asked = await onAll("/v1/table/indexed/create_index", {
      column: "id",
      index_type: "BTREE",
    });
    expect(asked.map(({ status }) => status)).toEqual(each.map(() => 200));
    expect(new Set(asked.map(({ json }) => json.transaction_id)).size).toBe(1);
    await waitFor("the index is ready in all threads", async () => {
      const lists = await onAll("/v1/table/indexed/index/list");
      return lists.every(({ json }) => json.indexes[0]?.status === "Ready");
    });
  });

  it("answers from shared process state on every thread", async () => {
    const replies = await Promise.all(
      Array.from({ length: CONNECTIONS }, () => server.client.get("/metrics")),
    );
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    const ready = await expectAll("/v1/table/indexed/prewarm", 200);
    expect(ready.map(({ json }) => json.indexes)).toEqual(each.map(() => ["id_idx"]));
  });

  it("returns the same errors on every thread", async () => {
    const replies = await expectAll("/v1/namespace/none/describe", 404);
    const reported = replies.map(({ json }) => `${json.code} ${json.detail}`);
    expect(new Set(reported)).toEqual(new Set(['1 namespace "none" does not exist']));
  });
});
