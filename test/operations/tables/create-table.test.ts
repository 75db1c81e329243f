import { randomUUID } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { tableFromIPC } from "apache-arrow";
import Database from "libsql";
import { describe, expect, it, onTestFinished } from "vitest";
import { emptyStream, items, stream, type } from "../../harness/arrow.js";
import { ARROW_STREAM } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { head } from "../../harness/socket.js";
import { waitFor } from "../../harness/wait-for.js";

const joust = setupServer();
const create = (
  id: string,
  body: Uint8Array | string,
  params?: Record<string, string>,
  headers?: Record<string, string>,
) =>
  joust.client.request(`/v1/table/${encodeURIComponent(id)}/create`, {
    body,
    ...(params && { params }),
    ...(headers && { headers }),
  });
const files = () => readdirSync(joust.root).filter((name) => !name.startsWith("."));

describe("create table", () => {
  it("writes the rows and returns the location and the version", async () => {
    const reply = await create("first", items(5));
    expect(reply.status).toBe(200);
    expect(reply.json).toEqual({
      transaction_id: expect.any(String),
      location: join(joust.root, "first.lance"),
      version: 1,
      properties: {},
    });
    expect(reply.headers.get("x-lancedb-version")).toBe("1");
    expect(existsSync(reply.json.location)).toBe(true);
    expect(await joust.client.count("first")).toBe(5);
  });

  it("creates an empty table from a stream without rows", async () => {
    const reply = await create("empty", emptyStream({ id: type.i64, v: type.vector(4) }));
    expect(reply.status).toBe(200);
    expect(await joust.client.count("empty")).toBe(0);
    const { schema } = await joust.client.ok("/v1/table/empty/describe");
    expect(schema.fields.map((field: { name: string }) => field.name)).toEqual(["id", "v"]);
    await joust.client.insert(
      "empty",
      stream({ id: [type.i64, [1n]], v: [type.vector(4), [[1, 2, 3, 4]]] }),
    );
    expect(await joust.client.count("empty")).toBe(1);
  });

  it("places tables of namespaces beside those of the root", async () => {
    await joust.client.createNamespace("ns");
    const { location } = (await create("ns$t", items(1))).json;
    expect(location).toMatch(/\/[0-9a-f]{8}_ns\$t$/);
    expect(await joust.client.count("ns$t")).toBe(1);
    expectFailure(await create("nowhere$t", items(1)), 404, 1, /nowhere/);
  });

  it("reads properties from the query and from the header", async () => {
    const properties = { owner: "Ralph", team: "naïve" };
    const byQuery = await create("by_query", items(1), { properties: JSON.stringify(properties) });
    expect(byQuery.json.properties).toEqual(properties);
    const byHeader = await create("by_header", items(1), undefined, {
      "x-lance-table-properties": '{"owner":"Ralph"}',
    });
    expect(byHeader.json.properties).toEqual({ owner: "Ralph" });
    const described = await joust.client.ok("/v1/table/by_query/describe");
    expect(described.properties).toEqual(properties);
  });

  it("accepts storage options except locations and credentials", async () => {
    const harmless = JSON.stringify({ aws_region: "us-east-1", timeout: "30s" });
    expect((await create("with_options", items(1), { storage_options: harmless })).status).toBe(
      200,
    );
    expect(await joust.client.count("with_options")).toBe(1);
    for (const name of ["aws_endpoint", "AWS_SECRET_ACCESS_KEY", "google_service_account"]) {
      const options = JSON.stringify({ [name]: "x" });
      expectFailure(
        await create("refused", items(1), { storage_options: options }),
        400,
        13,
        /operator/,
      );
    }
    const elsewhere = JSON.stringify({ aws_region: "x@127.0.0.1:9443/" });
    const reply = await create("refused", items(1), { storage_options: elsewhere });
    expectFailure(reply, 400, 13, /aws_region.*must be a region/);
    expectFailure(await joust.client.post("/v1/table/refused/exists"), 404, 4);
  });

  it("accepts a location only if it equals the default one", async () => {
    const own = join(joust.root, "placed.lance");
    const header = (location: string) => ({ "x-lance-table-location": location });
    expect((await create("placed", items(1), undefined, header(own))).status).toBe(200);
    for (const location of ["/etc", join(joust.root, "other.lance"), "s3://bucket/t.lance"]) {
      const reply = await create("misplaced", items(1), undefined, header(location));
      expectFailure(reply, 400, 13, /x-lance-table-location/);
    }
    expectFailure(await joust.client.post("/v1/table/misplaced/exists"), 404, 4);
    expect(files()).not.toContain("misplaced.lance");
  });

  it.each([undefined, "create", "Create"])(
    "with mode %s rejects an existing table",
    async (mode) => {
      const id = `twice_${mode}`;
      await create(id, items(2));
      const reply = await create(id, items(3), mode ? { mode } : undefined);
      expectFailure(reply, 409, 5, /already exists/);
      expect(await joust.client.count(id)).toBe(2);
    },
  );

  it.each(["exist_ok", "ExistOk", "EXIST_OK"])(
    "with mode %s keeps an existing table",
    async (mode) => {
      const id = `kept_${mode}`;
      const made = await create(id, items(2), { mode, properties: '{"a":"1"}' });
      const again = await create(id, items(3), { mode, properties: '{"a":"2"}' });
      expect(again.status).toBe(200);
      expect(again.json).toEqual({ ...made.json, transaction_id: expect.any(String) });
      expect(await joust.client.count(id)).toBe(2);
    },
  );

  it.each(["overwrite", "Overwrite"])(
    "with mode %s replaces rows, schema and properties",
    async (mode) => {
      const id = `replaced_${mode}`;
      const made = await create(id, items(2), { mode, properties: '{"a":"1"}' });
      const reply = await create(id, stream({ other: [type.text, ["x"]] }), { mode });
      expect(reply.status).toBe(200);
      expect(reply.json).toEqual({
        transaction_id: expect.any(String),
        location: made.json.location,
        version: 2,
        properties: {},
      });
      const described = await joust.client.ok(`/v1/table/${id}/describe`);
      expect(described.schema.fields).toHaveLength(1);
      expect(described.properties).toEqual({});
      expect(await joust.client.count(id)).toBe(1);
      expect(await joust.client.count(id, { version: 1 })).toBe(2);
    },
  );

  it.each([
    ["an unknown mode", { mode: "append" }, /create, exist_ok, overwrite/],
    ["properties that are not JSON", { properties: "a=b" }, /properties/],
    ["properties that are a list", { properties: "[]" }, /properties/],
    ["a property that is a number", { properties: '{"a":1}' }, /properties/],
    ["storage options that are not a map", { storage_options: "true" }, /storage_options/],
  ])("rejects %s", async (_, params, detail) => {
    expectFailure(await create("refused", items(1), params), 400, 13, detail);
    expectFailure(await joust.client.post("/v1/table/refused/exists"), 404, 4);
  });

  it("rejects properties in a header that are not a map", async () => {
    const headers = { "x-lance-table-properties": "nonsense" };
    expectFailure(await create("refused", items(1), undefined, headers), 400, 13, /properties/);
  });

  it("rejects names that lead to another path", async () => {
    for (const segment of [
      "a%2Fb",
      "..%2Fb",
      "%2E%2E%2Fetc",
      "a%5Cb",
      "a%00",
      "__manifest",
      "_joust",
    ]) {
      const reply = await joust.client.post(`/v1/table/${segment}/create`, items(1));
      expectFailure(reply, 400, 13);
    }
    expectFailure(await joust.client.post("/v1/table/$/create", items(1)), 400, 13);
  });

  it("accepts names that are no valid file names", async () => {
    for (const id of ["naïve Ünïcode", "50% off?", "x".repeat(128), "日本#1"]) {
      expect((await create(id, items(1))).status).toBe(200);
      expect(await joust.client.count(id)).toBe(1);
    }
  });
});

describe("a failed or unfinished create", () => {
  // Several batches, so that files are written before the missing end is detected.
  const part = tableFromIPC(items(20_000));
  const inBatches = stream(part.concat(part, part));
  const broken: [string, Uint8Array | string][] = [
    ["no bytes at all", new Uint8Array(0)],
    ["a body that is not Arrow", new TextEncoder().encode("hello, this is not Arrow at all")],
    ["a stream cut in its schema", items(5).slice(0, 100)],
    ["a stream cut in its only batch", items(500).slice(0, 9000)],
    ["a stream cut in its last batch", inBatches.slice(0, inBatches.length - 1000)],
  ];

  it.each(broken)("leaves nothing: %s", async (_, body) => {
    const before = files();
    expectFailure(await create("broken", body), 400, 13);
    expect(files()).toEqual(before);
    expectFailure(await joust.client.post("/v1/table/broken/exists"), 404, 4);
    expect((await joust.client.get("/v1/namespace/$/table/list")).json.tables).not.toContain(
      "broken",
    );
  });

  it("does not block its name", async () => {
    await create("second_try", "garbage", undefined, {
      "content-type": "application/vnd.apache.arrow.stream",
    });
    expect((await create("second_try", items(4))).status).toBe(200);
    expect(await joust.client.count("second_try")).toBe(4);
  });

  it("leaves the existing table unchanged if it was an overwrite", async () => {
    await create("precious", items(3));
    const reply = await create("precious", items(50).slice(0, 600), { mode: "overwrite" });
    expectFailure(reply, 400, 13);
    expect(await joust.client.count("precious")).toBe(3);
  });

  it("leaves nothing if the client disconnects midway", async () => {
    const before = files();
    const abort = new AbortController();
    const half = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(inBatches.slice(0, inBatches.length - 1000)),
    });
    const url = `${joust.server.url}/v1/table/abandoned/create`;
    const sent = fetch(url, {
      method: "POST",
      headers: { authorization: `Bearer ${joust.server.key}` },
      body: half,
      duplex: "half",
      signal: abort.signal,
    } as RequestInit);
    // During the write the name is taken and the table is invisible.
    await waitFor("the name is reserved", async () => {
      const reply = await create("abandoned", items(1), { mode: "exist_ok" });
      return reply.status === 409 && reply.json.code === 14;
    });
    expectFailure(await joust.client.post("/v1/table/abandoned/describe"), 404, 4);
    abort.abort();
    await expect(sent).rejects.toThrow();
    await waitFor("nothing is left", () => {
      const now = files();
      return now.length === before.length && !now.includes("abandoned.lance");
    });
    const again = await waitFor("the name is free", async () => {
      const reply = await create("abandoned", items(2));
      return reply.status === 200 && reply;
    });
    expect(again.json.version).toBe(1);
  });

  it("causes a conflict for other requests while it runs", async () => {
    const body = items(5);
    const key = { "idempotency-key": randomUUID() };
    const { hostname, port } = new URL(joust.server.url);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.write(
      head(
        "POST /v1/table/slow/create HTTP/1.1",
        "Host: x",
        `Authorization: Bearer ${joust.server.key}`,
        `Idempotency-Key: ${key["idempotency-key"]}`,
        `Content-Type: ${ARROW_STREAM}`,
        `Content-Length: ${body.byteLength}`,
      ),
    );
    socket.write(body.subarray(0, body.byteLength / 2));
    const catalog = new Database(join(joust.root, ".joust", "catalog.db"));
    onTestFinished(() => void catalog.close());
    await waitFor("the name is reserved", () =>
      catalog.prepare("select key from tables where name = 'slow'").get(),
    );
    expectFailure(await create("slow", body, {}, key), 409, 14, /is creating/);
    expectFailure(await create("slow", items(1)), 409, 14, /is creating/);
    socket.destroy();
    await waitFor("the repetition makes it", async () => {
      const reply = await create("slow", body, {}, key);
      return reply.status === 200;
    });
    expectFailure(await create("slow", items(1)), 409, 5, /already exists/);
  });

  it("succeeds exactly once among many concurrent creates", async () => {
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, at) => create("contested", items(at + 1))),
    );
    const won = replies.filter((reply) => reply.status === 200);
    expect(won).toHaveLength(1);
    for (const reply of replies) {
      if (reply.status === 200) continue;
      // A conflict until the winner's table exists.
      expectFailure(reply, 409, reply.json.code === 14 ? 14 : 5);
    }
    expect(await joust.client.count("contested")).toBe(
      replies.findIndex((reply) => reply.status === 200) + 1,
    );
  });
});
