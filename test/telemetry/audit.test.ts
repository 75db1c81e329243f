import { readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { items, stream, type } from "../harness/arrow.js";
import { createKey } from "../harness/cli.js";
import type { Json } from "../harness/client.js";
import { slowText } from "../harness/jobs.js";
import { newKey, type Server, startServer } from "../harness/server.js";
import { startServerForTest } from "../harness/setup-server.js";
import { SmallDisk, smallDiskMissing } from "../harness/small-disk.js";
import { tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";
import { waitForOutput } from "../harness/wait-for-output.js";
import { connections } from "../threads/connections.js";

/** All lines, oldest first. Every line must be complete JSON. */
function readLog(path: string): Json[] {
  const [directory, name] = [join(path, ".."), path.replace(/^.*\//, "")];
  const number = (file: string) => Number(file.slice(name.length + 1) || 0);
  return readdirSync(directory)
    .filter((file) => file.startsWith(name))
    .sort((a, b) => number(b) - number(a))
    .flatMap((file) => readFileSync(join(directory, file), "utf8").split("\n").filter(Boolean))
    .map((line) => JSON.parse(line));
}

const entriesOf = (path: string, operation: string | null, count = 1): Promise<Json[]> =>
  waitFor(`${count} lines for ${operation}`, () => {
    const entries = readLog(path).filter((entry) => entry.operation === operation);
    return entries.length >= count && entries;
  });

const newLog = (): string => join(tempDir("audit"), "audit.log");

const metric = async (server: Server, name: string): Promise<number> => {
  const { text } = await server.client.get("/metrics");
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
};

describe.each(["uws", "node"])("the audit log with --http %s", (http) => {
  const start = (path: string, more: string[] = []) =>
    startServerForTest({ args: ["--http", http, "--audit-log", path, ...more] });

  it("names what a SQL statement reads and changes, and what its caller may not change", async () => {
    const path = newLog();
    const server = await start(path);
    const { client } = server;
    await client.createNamespace("demo");
    await client.createTable("demo$t", items(3));
    const reader = client.withKey((await createKey(server.root)).key);
    await client.ok("/v1/sql", { query: "INSERT INTO demo.t SELECT * FROM demo.t" });
    await client.ok("/v1/sql", { query: "SELECT count(*) FROM demo.t" });
    expect((await reader.post("/v1/sql", { query: "DROP TABLE demo.t" })).status).toBe(403);
    const lines = await entriesOf(path, "ExecuteSql", 3);
    expect(lines.map(({ status, parts }) => [status, parts])).toEqual([
      [
        200,
        [
          { operation: "InsertIntoTable", object: "demo$t" },
          { operation: "ExecuteSql", object: "demo$t" },
        ],
      ],
      [200, [{ operation: "ExecuteSql", object: "demo$t" }]],
      [403, [{ operation: "DropTable", object: "demo$t" }]],
    ]);
    await client.ok("/v1/sql", { query: "GRANT SELECT, DROP ON demo.t TO 'group:people'" });
    const [, , , last] = await entriesOf(path, "ExecuteSql", 4);
    const grant = { subject: "group:people", object: "table:demo$t" };
    expect((last as Json).parts).toEqual([
      { operation: "AddGrant", grant: { ...grant, privileges: ["select"] } },
      { operation: "AddGrant", grant: { ...grant, privileges: ["drop"] } },
    ]);
  });

  it("has a second line for work that ends after its request", async () => {
    const path = newLog();
    const { client } = await start(path);
    await client.createTable("t", items(20_000, { dimension: 2 }));
    const answer = await client.request("/v1/table/t/update", {
      body: { updates: [["name", slowText("name", 3)]] },
      headers: { "x-request-timeout-ms": "300" },
    });
    expect([answer.status, answer.text]).toEqual([504, expect.stringContaining("unknown")]);
    const lines = await entriesOf(path, "UpdateTable", 2);
    expect(lines).toEqual([
      expect.objectContaining({ status: 504, error: 17, object: "t" }),
      expect.objectContaining({
        status: 200,
        after_end: true,
        object: "t",
        rows: { updated: 20_000 },
        version: 2,
        transaction: expect.any(String),
      }),
    ]);
    expect(lines[0]).not.toHaveProperty("after_end");
    expect(lines[1]?.request_id).toBe(lines[0]?.request_id);
  });

  it("has a second line for work that ends after its client has disconnected", async () => {
    const path = newLog();
    const { client } = await start(path);
    await client.createTable("t", items(20_000, { dimension: 2 }));
    const stop = new AbortController();
    const updates = [["name", slowText("name", 3)]];
    const sent = client
      .request("/v1/table/t/update", { body: { updates }, signal: stop.signal })
      .catch(() => undefined);
    await sleep(500);
    stop.abort();
    await sent;
    const lines = await entriesOf(path, "UpdateTable", 2);
    expect(lines.map(({ status, after_end }) => [status, after_end])).toEqual([
      [499, undefined],
      [200, true],
    ]);
  });

  it("has a line for each request that reached authentication", async () => {
    const path = newLog();
    const server = await start(path);
    const { client } = server;
    const { key, id } = await createKey(server.root);
    const reader = client.withKey(key);

    await client.createNamespace("demo");
    const created = await client.request("/v1/table/demo$t/create", {
      body: items(3),
      headers: { "x-request-id": "create-1" },
    });
    await client.insert("demo$t", items(2, { from: 3 }));
    await client.ok("/v1/table/demo$t/delete", { predicate: "id = 4" });
    await reader.ok("/v1/table/demo.t/query", { k: 5, vector: [] }, { delimiter: "." });
    expect((await reader.post("/v1/table/demo$t/drop")).status).toBe(403);
    expect((await client.withKey("").post("/v1/table/demo$t/drop")).status).toBe(401);
    expect((await client.post("/v1/table/none/describe")).status).toBe(404);
    expect((await client.get("/v1/unknown")).status).toBe(404);
    expect((await client.get("/healthz")).status).toBe(200);

    await entriesOf(path, null);
    const entries = readLog(path);
    const admin = { id: "--api-key", name: "--api-key" };
    const common = {
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      request_id: expect.stringMatching(/^[\w-]+$/),
      remote: "127.0.0.1",
      ms: expect.any(Number),
    };
    const transaction = expect.stringMatching(/\w/);
    const request_bytes = expect.any(Number);
    const object = "demo$t";
    const rows = (one: object) => ({ rows: one });
    const reading = { identity: { id, name: "read" }, object, ...common };
    const writing = { identity: admin, object, transaction, request_bytes, status: 200, ...common };
    const empty = { request_bytes: 0 };
    expect(entries).toEqual([
      { ...writing, operation: "CreateNamespace", object: "demo" },
      { ...writing, operation: "CreateTable", request_id: "create-1", version: 1 },
      { ...writing, operation: "InsertIntoTable", version: 2, ...rows({ inserted: 2 }) },
      { ...writing, operation: "DeleteFromTable", version: 3, ...rows({ deleted: 1 }) },
      {
        ...reading,
        operation: "QueryTable",
        query: "scan",
        status: 200,
        request_bytes,
        reply_bytes: expect.any(Number),
      },
      { ...reading, ...empty, operation: "DropTable", status: 403, error: 15 },
      { ...reading, ...empty, operation: "DropTable", identity: null, status: 401, error: 16 },
      {
        ...common,
        ...empty,
        identity: admin,
        operation: "DescribeTable",
        object: "none",
        status: 404,
        error: 4,
      },
      { ...common, identity: admin, operation: null, status: 404, error: 0 },
    ]);
    expect(entries[1].transaction).toBe(created.headers.get("x-transaction-id"));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(await metric(server, "joust_audit_lost_lines_total")).toBe(0);
    expect(await metric(server, "joust_audit_lines_total")).toBeGreaterThanOrEqual(entries.length);
  });

  it("contains no secret, no value and no literal of a request", async () => {
    const path = newLog();
    const server = await start(path);
    const { client } = server;
    const secrets: string[] = [server.key];
    const secret = (): string => {
      const one = `secret-${newKey()}`;
      secrets.push(one);
      return one;
    };
    await client.createTable("t", stream({ name: [type.text, [secret()]] }));
    const bad = newKey();
    secrets.push(bad);
    await client.withKey(bad).post("/v1/table/t/query", { filter: secret() });
    const send = (path: string, body: object, headers: Record<string, string> = {}) =>
      client.request(path, { body, headers });
    await send("/v1/table/t/query", { k: 1, vector: [], filter: `name = '${secret()}'` });
    await send("/v1/table/t/query", { k: 1, vector: [], full_text_query: { query: secret() } });
    await send("/v1/sql", { query: `select '${secret()}'`, parameters: [secret()] });
    await send("/v1/sql", { query: `syntax error '${secret()}'` });
    await send("/v1/table/t/update", { updates: [["name", `'${secret()}'`]] });
    await send("/v1/table/t/delete", { predicate: `name = '${secret()}'` });
    await send("/v1/table/t/update", { updates: secret() });
    await send("/v1/table/other/register", {
      location: `s3://${secret()}/t.lance`,
      properties: { token: secret() },
    });
    await send("/v1/table/t/describe", { identity: { api_key: secret(), auth_token: secret() } });
    await send("/v1/table/t/describe", { context: { token: secret() } });
    await send("/v1/table/t/describe", {}, { "x-ns-ctx-token": secret(), cookie: secret() });
    await send(`/v1/table/t/describe?api_key=${secret()}`, {});
    await send(`/v1/${secret()}`, {});
    await send("/v1/table/t/count_rows", {}, { "idempotency-key": secret() });
    await client.createNamespace("end", { properties: { token: secret() } });
    await entriesOf(path, "CreateNamespace");
    const text = readFileSync(path, "utf8");
    expect(text.split("\n").length).toBeGreaterThan(15);
    for (const one of secrets) expect(text).not.toContain(one);
    expect(text).not.toContain("secret-");
  });

  it("has a line for a request whose client disconnected", async () => {
    const path = newLog();
    const server = await start(path);
    await server.client.createTable("t", items(1));
    const abort = new AbortController();
    let announce = () => {};
    const started = new Promise<void>((resolve) => {
      announce = resolve;
    });
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(items(1).subarray(0, 8));
        announce();
        return new Promise(() => {});
      },
    });
    const sent = fetch(`${server.url}/v1/table/t/insert`, {
      method: "POST",
      body,
      duplex: "half",
      headers: {
        authorization: `Bearer ${server.key}`,
        "content-type": "application/vnd.apache.arrow.stream",
      },
      signal: abort.signal,
    } as RequestInit).catch(() => {});
    await started;
    await waitFor("the server has the request", async () => {
      const { text } = await server.client.get("/metrics");
      return /joust_memory_taken_bytes\{by="uploads"\}/.test(text);
    });
    abort.abort();
    await sent;
    const [entry] = await entriesOf(path, "InsertIntoTable");
    expect(entry).toMatchObject({ object: "t", status: 499, identity: { id: "--api-key" } });
  });

  it("rotates by size and keeps the newest files", async () => {
    const path = newLog();
    const server = await start(path, ["--audit-log-size", "64KiB", "--audit-log-files", "2"]);
    const send = () => server.client.get("/v1/namespace/$/list");
    await waitFor("two renamed files and a third rotation", async () => {
      await Promise.all(Array.from({ length: 100 }, send));
      const lines = readLog(path).length;
      return (await metric(server, "joust_audit_lines_total")) > lines + 200;
    });
    // A rotation may still be under way.
    const files = await waitFor("three files", () => {
      const names = readdirSync(join(path, "..")).sort();
      return names.length >= 3 && names;
    });
    expect(files).toEqual(["audit.log", "audit.log.1", "audit.log.2"]);
    for (const file of files) {
      const { size, mode } = statSync(join(path, "..", file));
      expect(size).toBeLessThanOrEqual(64 * 1024);
      expect(mode & 0o777).toBe(0o600);
    }
  });
});

describe("the audit log", () => {
  it.runIf(process.platform === "linux")(
    "has the requests of every event loop in one file",
    async () => {
      const path = newLog();
      const server = await startServer({
        args: ["--http-threads", "2", "--audit-log", path, "--log-level", "debug"],
      });
      const each = connections(server, 24);
      await Promise.all(each.map((connection) => connection.post("/v1/namespace/$/list")));
      for (const connection of each) connection.close();
      // Lines that still wait in a thread are written before the process ends.
      expect(await server.stop()).toBe(0);
      const entries = readLog(path).filter(({ operation }) => operation === "ListNamespaces");
      expect(entries).toHaveLength(each.length);
      const requests = server
        .output()
        .split("\n")
        .filter((line) => line.includes('"msg":"request"'));
      const others = requests.filter((line) => line.includes('"thread":"joust-http-2"'));
      expect(others.length).toBeGreaterThan(0);
      expect(others.length).toBeLessThan(each.length);
    },
  );

  it.runIf(process.platform !== "win32")("continues at its path after SIGHUP", async () => {
    const path = newLog();
    const server = await startServerForTest({ args: ["--audit-log", path] });
    await server.client.createNamespace("a");
    await entriesOf(path, "CreateNamespace");
    renameSync(path, `${path}.moved`);
    process.kill(server.pid, "SIGHUP");
    await waitForOutput(server, "reopened the audit log");
    await server.client.createNamespace("b");
    const written = await waitFor("the line of the second request", () => {
      const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
      return lines.length > 0 && lines.map((line) => JSON.parse(line).object);
    });
    expect(written).toEqual(["b"]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("continues a file of an earlier server, after a torn line too", async () => {
    const path = newLog();
    writeFileSync(path, '{"operation":"Earlier"}\n{"operation":"To', { mode: 0o644 });
    const server = await startServerForTest({ args: ["--audit-log", path] });
    await server.client.createNamespace("a");
    const lines = await waitFor("a new line", () => {
      const all = readFileSync(path, "utf8").split("\n").filter(Boolean);
      return all.length >= 3 && all;
    });
    expect(lines.slice(0, 2)).toEqual(['{"operation":"Earlier"}', '{"operation":"To']);
    expect(JSON.parse(lines[2] as string).operation).toBe("CreateNamespace");
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it.each([
    [
      "a directory that does not exist",
      () => join(tempDir("audit"), "none", "audit.log"),
      /ENOENT/,
    ],
    ["a directory", () => tempDir("audit"), /EISDIR/],
    ["a device", () => "/dev/null", /not a regular file/],
  ])("fails the start of the server if its path is in or is %s", async (_, place, reason) => {
    const failed = startServer({ args: ["--audit-log", place()] });
    await expect(failed).rejects.toThrow(/joust: the audit log .* cannot be opened/);
    await expect(failed).rejects.toThrow(reason);
  });
});

describe.skipIf(smallDiskMissing)("an audit log on a full disk", () => {
  it("fails no request, counts the errors and continues when the disk has space", async () => {
    const disk = new SmallDisk(1);
    let server: Server | undefined;
    try {
      const path = join(disk.path, "audit.log");
      server = await startServer({ args: ["--audit-log", path] });
      const running = server;
      await running.client.createNamespace("before");
      await entriesOf(path, "CreateNamespace");
      disk.fill(0);
      const send = () => running.client.get("/v1/namespace/$/list");
      await waitFor("a write failed", async () => {
        for (const { status } of await Promise.all([send(), send(), send()]))
          expect(status).toBe(200);
        return (await metric(running, "joust_audit_write_errors_total")) > 0;
      });
      await waitForOutput(running, "the audit log could not be written");
      await running.client.createNamespace("during");
      disk.empty();
      const [, during] = await entriesOf(path, "CreateNamespace", 2);
      expect(during.object).toBe("during");
      // `readLog` has checked that no line is torn.
      expect(await metric(running, "joust_audit_lost_lines_total")).toBe(0);
      await waitForOutput(running, "the audit log is written again");
    } finally {
      await server?.stop();
      disk.remove();
    }
  });
});
