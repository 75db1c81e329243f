import { readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { emptyStream, items, stream, type } from "../../harness/arrow.js";
import type { Answer, Json } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { startServer } from "../../harness/server.js";
import { setupServer } from "../../harness/setup-server.js";
import { tempDir } from "../../harness/temp.js";

const joust = setupServer();

type Params = Record<string, string>;
const call = (id: string, step: string, params: Params = {}): Promise<Answer> =>
  joust.client.post(`/v1/table/${id}/multipart_write/${step}`, undefined, params);
const begin = async (id: string, params: Params = {}): Promise<string> => {
  const reply = await call(id, "create", params);
  expect(reply.status).toBe(200);
  return reply.json.upload_id;
};
const part = (id: string, body: Uint8Array, params: Params): Promise<Answer> =>
  joust.client.post(`/v1/table/${id}/insert/`, body, params);
const count = async (id: string, body: object = {}): Promise<number> =>
  joust.client.count(id, body);
const versions = async (id: string): Promise<number> =>
  (await joust.client.ok(`/v1/table/${id}/version/list`)).versions.length;
const dataFiles = (id: string, branch?: string): number =>
  readdirSync(join(joust.root, `${id}.lance`, ...(branch ? ["tree", branch] : []), "data")).length;
const ids = async (id: string): Promise<number[]> => {
  const rows = await joust.client.query(id, {
    k: 10_000,
    vector: {},
    columns: { column_names: ["id"] },
  });
  return [...rows].map((row) => Number(row.id)).sort((a, b) => a - b);
};
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

describe("a multipart write", () => {
  it("is invisible until it completes and then adds all rows in one version", async () => {
    await joust.client.createTable("whole", items(10));
    const upload_id = await begin("whole");
    const replies = await Promise.all(
      range(0, 4).map((n) =>
        part("whole", items(5, { from: 10 + n * 5 }), { upload_id, upload_part_id: `part ${n}` }),
      ),
    );
    expect(replies.map((reply) => [reply.status, reply.json])).toEqual(
      Array(4).fill([200, { num_inserted_rows: 5 }]),
    );
    expect([await count("whole"), await versions("whole")]).toEqual([10, 1]);
    const done = await call("whole", "complete", { upload_id });
    expect(done.json).toEqual({ version: 2, transaction_id: expect.any(String) });
    expect(done.headers.get("x-lancedb-version")).toBe("2");
    expect([await ids("whole"), await versions("whole")]).toEqual([range(0, 30), 2]);
  });

  it("commits once, however often it is completed", async () => {
    await joust.client.createTable("once", items(1));
    const upload_id = await begin("once");
    await part("once", items(2), { upload_id });
    const together = await Promise.all(
      range(0, 5).map(() => call("once", "complete", { upload_id })),
    );
    const later = await call("once", "complete", { upload_id });
    expect([...together, later].map((reply) => reply.json.version)).toEqual(Array(6).fill(2));
    expect([await count("once"), await versions("once")]).toEqual([3, 2]);
    expectFailure(await part("once", items(1), { upload_id }), 400, 13, /upload/);
    expect((await call("once", "abort", { upload_id })).status).toBe(200);
    expect(await count("once")).toBe(3);
  });

  it("replaces a part that is sent again and accepts parts in any order", async () => {
    await joust.client.createTable("again", items(1));
    const upload_id = await begin("again");
    const named = { upload_id, upload_part_id: "a" };
    await part("again", items(50, { from: 100 }), named);
    await part("again", items(3, { from: 1 }), named);
    for (const from of [4, 5]) await part("again", items(1, { from }), { upload_id });
    expect(dataFiles("again")).toBe(1 + 3);
    await call("again", "complete", { upload_id });
    expect(await ids("again")).toEqual(range(0, 6));
  });

  it("replaces all rows at its end if its parts overwrite", async () => {
    await joust.client.createTable("over", items(20));
    const other = (rows: number[]) =>
      stream({ n: [type.i32, rows], who: [type.text, rows.map((row) => `w${row}`)] });
    const upload_id = await begin("over");
    const sent = { upload_id, mode: "overwrite" };
    await Promise.all([1, 2, 3].map((n) => part("over", other([n, n + 10]), sent)));
    expect(await count("over")).toBe(20);
    await joust.client.insert("over", items(5, { from: 20 }));
    expectFailure(await part("over", other([9]), { upload_id }), 400, 20);
    expect((await call("over", "complete", { upload_id })).json.version).toBe(3);
    const rows = await joust.client.query("over", { k: 100, vector: {} });
    expect(rows.schema.names).toEqual(["n", "who"]);
    expect([...rows].map((row) => row.n).sort((a, b) => a - b)).toEqual([1, 2, 3, 11, 12, 13]);
    expect([...rows].every((row) => row.who === `w${row.n}`)).toBe(true);
  });

  it("rejects a mix of append and overwrite, and parts with different schemas", async () => {
    await joust.client.createTable("mixed", items(2));
    const upload_id = await begin("mixed");
    await part("mixed", items(1), { upload_id });
    const over = { upload_id, mode: "overwrite" };
    expectFailure(await part("mixed", items(1), over), 400, 13, /all append or all overwrite/);
    expect(dataFiles("mixed")).toBe(2);

    const second = { upload_id: await begin("mixed"), mode: "overwrite" };
    await part("mixed", stream({ a: [type.i64, [1n]] }), second);
    await part("mixed", stream({ b: [type.text, ["x"]] }), second);
    expectFailure(await call("mixed", "complete", second), 400, 20, /different schemas/);
    expect([await count("mixed"), dataFiles("mixed")]).toEqual([2, 2]);
    expectFailure(await call("mixed", "complete", second), 400, 13);
  });

  it("rejects a part that does not fit the table and continues", async () => {
    await joust.client.createTable("picky", items(1));
    const upload_id = await begin("picky");
    const bad = [
      stream({ id: [type.text, ["x"]] }),
      stream({ nosuch: [type.i64, [1n]] }),
      new Uint8Array([1, 2, 3]),
      items(3).subarray(0, 400),
    ];
    for (const body of bad) {
      const reply = await part("picky", body, { upload_id });
      expectFailure(reply, 400, reply.json.code);
      expect([13, 20]).toContain(reply.json.code);
    }
    await part("picky", items(1, { from: 1 }), { upload_id });
    await part("picky", emptyStream({ id: type.i64 }), { upload_id });
    await call("picky", "complete", { upload_id });
    expect(await ids("picky")).toEqual([0, 1]);
  });

  it("leaves no file after an abort", async () => {
    await joust.client.createTable("gone", items(1));
    const before = dataFiles("gone");
    const upload_id = await begin("gone");
    for (const from of [1, 2, 3]) await part("gone", items(1, { from }), { upload_id });
    expect(dataFiles("gone")).toBe(before + 3);
    for (const _ of [1, 2]) expect((await call("gone", "abort", { upload_id })).json).toEqual({});
    expect([dataFiles("gone"), await count("gone")]).toEqual([before, 1]);
    expectFailure(await call("gone", "complete", { upload_id }), 400, 13, /begin a new one/);
    expectFailure(await part("gone", items(1), { upload_id }), 400, 13, /begin a new one/);
    expect(dataFiles("gone")).toBe(before);
  });

  it("writes only to the branch it was created on", async () => {
    await joust.client.createTable("forked", items(3));
    await joust.client.ok("/v1/table/forked/branches/create", { name: "dev" });
    const branch = "dev";
    const upload_id = await begin("forked", { branch });
    await part("forked", items(4, { from: 3 }), { upload_id, branch });
    expectFailure(await part("forked", items(1), { upload_id }), 400, 13);
    expectFailure(await call("forked", "complete", { upload_id }), 400, 13);
    expect((await call("forked", "complete", { upload_id, branch })).status).toBe(200);
    expect([await count("forked"), await count("forked", { branch })]).toEqual([3, 7]);

    const aborted = await begin("forked", { branch });
    const before = dataFiles("forked", branch);
    await part("forked", items(1), { upload_id: aborted, branch });
    await call("forked", "abort", { upload_id: aborted, branch });
    expect(dataFiles("forked", branch)).toBe(before);
    expectFailure(await call("forked", "create", { branch: "none" }), 404, 22);
  });

  it("is applied on top of concurrent writes", async () => {
    await joust.client.createTable("busy", items(10));
    const appended = await begin("busy");
    const outdated = await begin("busy");
    for (const upload_id of [appended, outdated]) {
      await part("busy", items(2, { from: 100 }), { upload_id });
    }
    await joust.client.insert("busy", items(5, { from: 10 }));
    await joust.client.ok("/v1/table/busy/delete", { predicate: "id < 5" });
    expect((await call("busy", "complete", { upload_id: appended })).status).toBe(200);
    expect(await count("busy")).toBe(12);
    // Rows with a former schema of the table.
    await joust.client.insert("busy", stream({ n: [type.i64, [1n]] }), { mode: "overwrite" });
    const upload_id = outdated;
    expectFailure(await call("busy", "complete", { upload_id }), 400, 19, /send them again/);
    expect(await count("busy")).toBe(1);
    expectFailure(await call("busy", "complete", { upload_id }), 400, 13);
  });

  it("is rejected if the table has the maximum number of them in progress", async () => {
    await joust.client.createTable("crowded", items(1));
    const begun = await Promise.all(range(0, 64).map(() => begin("crowded")));
    const refused = await call("crowded", "create");
    expectFailure(refused, 429, 21, /too many uploads/);
    expect(refused.headers.get("retry-after")).toBe("1");
    await call("crowded", "abort", { upload_id: begun[0] as string });
    const upload_id = await begin("crowded");
    expect((await part("crowded", items(1), { upload_id })).status).toBe(200);
  });

  it("is rejected with a missing or wrong upload id", async () => {
    await joust.client.createTable("asked", items(1));
    await joust.client.createTable("other", items(1));
    const upload_id = await begin("asked");
    expectFailure(await part("asked", items(1), { upload_id: "none" }), 400, 13);
    expectFailure(await part("other", items(1), { upload_id }), 400, 13);
    expectFailure(await part("asked", items(1), { upload_part_id: "a" }), 400, 13, /upload_id/);
    expectFailure(await call("asked", "complete", {}), 400, 13, /upload_id/);
    expectFailure(await call("asked", "complete", { upload_id }), 400, 13, /no parts/);
    expectFailure(await call("missing", "create"), 404, 4);
    // The multipart write of another table is unaffected.
    expect((await call("other", "abort", { upload_id })).status).toBe(200);
    expect((await part("asked", items(1), { upload_id })).status).toBe(200);
  });

  it("rejects a part that is still arriving when it completes", async () => {
    await joust.client.createTable("late", items(1));
    const upload_id = await begin("late");
    await part("late", items(2, { from: 1 }), { upload_id });
    const whole = items(2_000, { from: 100 });
    let resume = () => {};
    const completed = new Promise<void>((resolve) => {
      resume = resolve;
    });
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(whole.subarray(0, 20_000));
        await completed;
        controller.enqueue(whole.subarray(20_000));
        controller.close();
      },
    });
    const late = fetch(`${joust.client.url}/v1/table/late/insert/?upload_id=${upload_id}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${joust.client.key}`,
        "content-type": "application/vnd.apache.arrow.stream",
      },
      body,
      duplex: "half",
    } as RequestInit);
    // The insert starts before the completion and is rejected after it.
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect((await call("late", "complete", { upload_id })).status).toBe(200);
    resume();
    expect((await late).status).toBe(400);
    expect([await ids("late"), dataFiles("late")]).toEqual([[0, 1, 2], 2]);
  });

  it("is recorded as one transaction at its end", async () => {
    await joust.client.createTable("recorded", items(1));
    const upload_id = await begin("recorded");
    expect((await part("recorded", items(1), { upload_id })).json).not.toHaveProperty(
      "transaction_id",
    );
    const { transaction_id } = (await call("recorded", "complete", { upload_id })).json;
    const record: Json = await joust.client.ok(`/v1/transaction/${transaction_id}/describe`);
    expect(record.properties).toMatchObject({ operation: "CompleteMultipartWrite", version: "2" });
  });
});

describe("a multipart write during a server restart", () => {
  const root = tempDir("multipart");
  const first = { root, key: "", upload: "" };

  beforeAll(async () => {
    const server = await startServer({ root });
    await server.client.createTable("t", items(10));
    const { upload_id } = await server.client.ok("/v1/table/t/multipart_write/create");
    const params = { upload_id, upload_part_id: "1" };
    await server.client.ok("/v1/table/t/insert/", items(10, { from: 10 }), params);
    first.key = server.key;
    first.upload = upload_id;
    await server.kill();
  });

  it("continues on the next server", async () => {
    const server = await startServer({ root, key: first.key });
    try {
      const upload_id = first.upload;
      const again = { upload_id, upload_part_id: "1" };
      await server.client.ok("/v1/table/t/insert/", items(20, { from: 10 }), again);
      await server.client.ok("/v1/table/t/insert/", items(5, { from: 30 }), { upload_id });
      expect(await server.client.count("t")).toBe(10);
      const path = "/v1/table/t/multipart_write/complete";
      const done = await server.client.post(path, undefined, { upload_id });
      expect(done.json.version).toBe(2);
      expect(await server.client.count("t")).toBe(35);
    } finally {
      await server.stop();
    }
  });
});
