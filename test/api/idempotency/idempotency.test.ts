import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createKey } from "../../harness/cli.js";
import type { Client } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import {
  createTenRows,
  keyed,
  newKey,
  REPLAYED,
  rowsAndSum,
  rowsOf,
  writes,
} from "./keyed-writes.js";

const joust = setupServer();
let tables = 0;
const newTable = async (): Promise<string> => {
  const name = `t${++tables}`;
  await createTenRows(joust.client, name);
  return name;
};

describe("a request repeated with the same idempotency key", () => {
  it.each(writes)("takes effect once and gets the same response: $name", async (write) => {
    const { client } = joust;
    const [table, key] = [await newTable(), newKey()];
    const send = () => keyed(client, key, write.path(table), write.body(), write.params);
    const first = await send();
    expect(first.status, first.text).toBe(200);
    expect(first.headers.get(REPLAYED)).toBeNull();
    for (let again = 0; again < 2; again++) {
      const second = await send();
      expect([second.status, second.text]).toEqual([first.status, first.text]);
      expect(second.headers.get(REPLAYED)).toBe("true");
      for (const name of ["x-lancedb-version", "x-transaction-id", "content-type"]) {
        expect(second.headers.get(name), name).toBe(first.headers.get(name));
      }
    }
    expect(await rowsAndSum(client, table)).toEqual(write.after);
  });

  it("takes effect once for create, rename, tag and drop", async () => {
    const { client } = joust;
    const steps: [string, object | Uint8Array | undefined][] = [
      ["/v1/table/made/create", rowsOf(1)],
      ["/v1/namespace/space/create", {}],
      ["/v1/table/made/tags/create", { tag: "first", version: 1 }],
      ["/v1/table/made/create_scalar_index", { column: "id", index_type: "BTREE" }],
      ["/v1/table/made/rename", { new_table_name: "other" }],
      ["/v1/table/other/drop", undefined],
    ];
    for (const [path, body] of steps) {
      const key = newKey();
      const first = await keyed(client, key, path, body);
      expect(first.status, `${path}: ${first.text}`).toBeLessThan(300);
      const second = await keyed(client, key, path, body);
      expect([second.status, second.text], path).toEqual([first.status, first.text]);
      expect(second.headers.get(REPLAYED)).toBe("true");
    }
  });

  it("matches whether or not the key is quoted", async () => {
    const { client } = joust;
    const [table, key] = [await newTable(), newKey()];
    await keyed(client, key, `/v1/table/${table}/insert`, rowsOf(10));
    const second = await keyed(client, `"${key}"`, `/v1/table/${table}/insert`, rowsOf(10));
    expect(second.headers.get(REPLAYED)).toBe("true");
    expect(await client.count(table)).toBe(11);
  });

  it("runs again after a failure, because failures are not recorded", async () => {
    const { client } = joust;
    const key = newKey();
    const send = () => keyed(client, key, "/v1/table/later/insert", rowsOf(1, 2));
    expectFailure(await send(), 404, 4);
    await createTenRows(client, "later");
    const second = await send();
    expect(second.status).toBe(200);
    expect(second.headers.get(REPLAYED)).toBeNull();
    expect((await send()).headers.get(REPLAYED)).toBe("true");
    expect(await client.count("later")).toBe(12);
  });

  it("gets the first response when create with exist_ok finds an existing table", async () => {
    const { client } = joust;
    const [table, key] = [await newTable(), newKey()];
    const send = () =>
      keyed(client, key, `/v1/table/${table}/create`, rowsOf(1, 2), { mode: "exist_ok" });
    const first = await send();
    expect(first.status, first.text).toBe(200);
    const second = await send();
    expect(second.text).toBe(first.text);
    expect(second.headers.get(REPLAYED)).toBe("true");
    expect(await client.count(table)).toBe(10);
  });

  it("adds a part of a multipart write only once, even if the part has no name", async () => {
    const { client } = joust;
    const [table, key] = [await newTable(), newKey()];
    const { upload_id } = await client.ok(`/v1/table/${table}/multipart_write/create`, {});
    const path = `/v1/table/${table}/insert`;
    const first = await keyed(client, key, path, rowsOf(10), { upload_id });
    const second = await keyed(client, key, path, rowsOf(10), { upload_id });
    expect(second.text).toBe(first.text);
    const complete = `/v1/table/${table}/multipart_write/complete`;
    await client.ok(complete, {}, { upload_id });
    expect(await client.count(table)).toBe(11);
  });

  it("runs again if it is a read", async () => {
    const { client } = joust;
    const [table, key] = [await newTable(), newKey()];
    const count = () => keyed(client, key, `/v1/table/${table}/count_rows`, {});
    expect((await count()).json).toBe(10);
    await client.insert(table, rowsOf(10));
    const second = await count();
    expect([second.json, second.headers.get(REPLAYED)]).toEqual([11, null]);
  });
});

describe("an idempotency key that was used for a different request", () => {
  it.each([
    ["body", (table: string) => [`/v1/table/${table}/insert`, rowsOf(11), {}]],
    ["table", () => ["/v1/table/another/insert", rowsOf(10), {}]],
    ["operation", (table: string) => [`/v1/table/${table}/merge_insert`, rowsOf(10), { on: "id" }]],
    ["parameter", (table: string) => [`/v1/table/${table}/insert`, rowsOf(10), { mode: "append" }]],
  ] as [string, (table: string) => [string, Uint8Array, Record<string, string>]][])(
    "is rejected with 422: different %s",
    async (_, request) => {
      const { client } = joust;
      const [table, key] = [await newTable(), newKey()];
      if (!(await client.post("/v1/table/another/exists")).status.toString().startsWith("2")) {
        await createTenRows(client, "another");
      }
      expect((await keyed(client, key, `/v1/table/${table}/insert`, rowsOf(10))).status).toBe(200);
      const [path, body, params] = request(table);
      expectFailure(await keyed(client, key, path, body, params), 422, 13, /another request/);
      expect(await client.count(table)).toBe(11);
      expect(await client.count("another")).toBe(10);
    },
  );
});

it("the same key of another caller is independent and reveals nothing about the first caller's request", async () => {
  const { client } = joust;
  const [table, key] = [await newTable(), newKey()];
  const send = (sender: Client, ...ids: number[]) =>
    keyed(sender, key, `/v1/table/${table}/insert`, rowsOf(...ids));
  const other = client.withKey((await createKey(joust.root, "write")).key);
  expect((await send(client, 10)).status).toBe(200);
  const [first, second] = [await send(other, 11, 12), await send(other, 11, 12)];
  expect([first.status, first.headers.get(REPLAYED)]).toEqual([200, null]);
  expect([second.text, second.headers.get(REPLAYED)]).toEqual([first.text, "true"]);
  expect((await send(client, 10)).headers.get(REPLAYED)).toBe("true");
  expectFailure(await send(client, 11, 12), 422, 13, /another request/);
  expect(await client.count(table)).toBe(13);
});

it.each(["", '""', "a b", "é", "x".repeat(256), '"open'])(
  "a request with the idempotency key %j returns 400",
  async (key) => {
    const { client } = joust;
    const table = await newTable();
    const answer = await client.request(`/v1/table/${table}/insert`, {
      body: rowsOf(10),
      headers: { "idempotency-key": Buffer.from(key).toString("latin1") },
    });
    expectFailure(answer, 400, 13, /Idempotency-Key/);
    expect(await client.count(table)).toBe(10);
  },
);

describe("concurrent requests with the same key", () => {
  it.each(writes)("take effect once and all get the same response: $name", async (write) => {
    const { client } = joust;
    const [table, key] = [await newTable(), newKey()];
    const sent = Array.from({ length: 8 }, () =>
      keyed(client, key, write.path(table), write.body(), write.params),
    );
    const answers = await Promise.all(sent);
    expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
    const first = answers.filter((answer) => answer.headers.get(REPLAYED) === null);
    expect(first).toHaveLength(1);
    expect(await rowsAndSum(client, table)).toEqual(write.after);
  });

  it("share commits with requests of other keys, and each request takes effect once", async () => {
    const { client } = joust;
    const table = await newTable();
    const keys = Array.from({ length: 40 }, newKey);
    const send = (key: string, index: number) =>
      keyed(client, key, `/v1/table/${table}/insert`, rowsOf(100 + index));
    const twice = await Promise.all([...keys.map(send), ...keys.map(send)]);
    expect(new Set(twice.map((answer) => answer.status))).toEqual(new Set([200]));
    expect(await client.count(table)).toBe(50);
    expect(await client.count(table, { predicate: "id >= 100 and id < 140" })).toBe(40);
  });
});

it("a request whose body is cut off has no effect and frees its key", async () => {
  const { client } = joust;
  const [table, key] = [await newTable(), newKey()];
  const abort = new AbortController();
  const half = new ReadableStream({
    async start(controller) {
      controller.enqueue(rowsOf(10).slice(0, 40));
      await sleep(100);
      abort.abort();
    },
  });
  await expect(
    fetch(new URL(`/v1/table/${table}/insert`, client.url), {
      method: "POST",
      headers: {
        authorization: `Bearer ${client.key}`,
        "content-type": "application/vnd.apache.arrow.stream",
        "idempotency-key": key,
      },
      body: half,
      signal: abort.signal,
      duplex: "half",
    } as RequestInit),
  ).rejects.toThrow();
  const answer = await keyed(client, key, `/v1/table/${table}/insert`, rowsOf(10, 11));
  expect(answer.status).toBe(200);
  expect(await client.count(table)).toBe(12);
});

describe("the request id of a LanceDB SDK", () => {
  const send = (table: string, id: string, n: string) =>
    joust.client.request(`/v1/table/${table}/update/`, {
      body: { predicate: null, updates: [["n", n]] },
      headers: { "x-request-id": id },
    });

  it("makes a repeated request take effect once", async () => {
    const [table, id] = [await newTable(), newKey()];
    const first = await send(table, id, "n + 1");
    expect(first.status, first.text).toBe(200);
    const second = await send(table, id, "n + 1");
    expect(second.text).toBe(first.text);
    expect(second.headers.get(REPLAYED)).toBe("true");
    expect(await rowsAndSum(joust.client, table)).toEqual([10, 10]);
  });

  it("does not deduplicate a request with a different body or with an id in another form", async () => {
    const [table, id] = [await newTable(), newKey()];
    expect((await send(table, id, "n + 1")).status).toBe(200);
    expect((await send(table, id, "n + 2")).status).toBe(200);
    for (let time = 0; time < 2; time++)
      expect((await send(table, "trace-7", "n + 1")).status).toBe(200);
    expect(await rowsAndSum(joust.client, table)).toEqual([10, 50]);
  });
});
