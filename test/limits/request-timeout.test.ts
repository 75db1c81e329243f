import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { type Answer, ARROW_STREAM, type Json } from "../harness/client.js";
import { expectFailure } from "../harness/expect-failure.js";
import { waitForIndex } from "../harness/indexes.js";
import { slowText, waitForJob } from "../harness/jobs.js";
import { setupServer } from "../harness/setup-server.js";
import { head } from "../harness/socket.js";
import { waitFor } from "../harness/wait-for.js";
import { variants } from "./limited-server.js";

const ROWS = 20_000;
/** Takes many seconds for all rows. */
const slow = `${slowText("name", 60)} IS NOT NULL`;
const endless =
  "SELECT count(*) AS n FROM t a CROSS JOIN t b CROSS JOIN t c WHERE a.price + b.price < c.price";

describe.each(variants)("deadlines with --http %s and --http-threads %s", (http, threads) => {
  const joust = setupServer({ args: ["--http", http, "--http-threads", threads] });
  beforeAll(async () => {
    await joust.client.createTable("t", items(ROWS, { dimension: 2 }));
    await joust.client.createTable("few", items(ROWS, { dimension: 2 }));
    await joust.client.createTable("indexed", items(ROWS, { dimension: 2 }));
    for (const index of [
      { column: "name", index_type: "FTS" },
      { column: "vector", index_type: "IVF_FLAT", num_partitions: 4, distance_type: "l2" },
    ]) {
      await joust.client.ok("/v1/table/indexed/create_index", index);
      await waitForIndex(joust.client, "indexed", `${index.column}_idx`);
    }
    const view = { query: "SELECT id, name FROM t" };
    const { job_id } = await joust.client.ok("/v1/materialized_view/seen/create", view);
    await waitForJob(joust.client, job_id);
  }, 60_000);
  const within = (ms: number, path: string, body: Json, headers = {}): Promise<Answer> =>
    joust.client.request(path, {
      body,
      headers: { "x-request-timeout-ms": String(ms), ...headers },
    });
  const takenByQueries = async () => {
    const { text } = await joust.client.get("/metrics");
    return Number(/^joust_memory_taken_bytes\{by="queries"\} (\d+)/m.exec(text)?.[1]);
  };

  const scan = { k: ROWS, vector: {}, filter: slow };
  it.each<[string, string, Json]>([
    ["a scan", "/v1/table/t/query", scan],
    ["a scan in the dialect of the LanceDB SDKs", "/v1/table/t/query/", { k: ROWS, filter: slow }],
    ["a sorted query", "/v1/table/t/query", { ...scan, order_by: [{ column_name: "price" }] }],
    [
      "a vector search",
      "/v1/table/t/query",
      { k: 5, vector: { single_vector: [1, 1] }, filter: slow },
    ],
    ["a count", "/v1/table/t/count_rows", { predicate: slow }],
    ["a SQL statement", "/v1/sql", { query: endless }],
    ["an analyze_plan", "/v1/table/t/analyze_plan", scan],
    [
      "a search of a vector index",
      "/v1/table/indexed/query",
      { k: 5, vector: { single_vector: [1, 1] }, nprobes: 4, filter: slow },
    ],
    [
      "a text search",
      "/v1/table/indexed/query",
      { k: 5, vector: {}, full_text_query: { string_query: { query: "item" } }, filter: slow },
    ],
    [
      "a hybrid search",
      "/v1/sql",
      {
        query: `SELECT id FROM hybrid_search('indexed', 'vector', [1, 1], 'item', 5, 'name') WHERE ${slow}`,
      },
    ],
    ["a query of a view", "/v1/sql", { query: `SELECT count(*) FROM seen WHERE ${slow}` }],
    ["a change feed that waits", "/v1/table/t/changes", { from_version: 1, wait_ms: 20_000 }],
  ])("end the work of the engine: %s", async (_, path, body) => {
    const answer = await within(200, path, body);
    expectFailure(
      answer,
      504,
      17,
      /longer than 200 ms, the limit that `x-request-timeout-ms` sets/,
    );
    await waitFor("the memory is given back", async () => (await takenByQueries()) === 0);
  });

  it.each([
    ["INSERT", "INSERT INTO few"],
    ["CREATE TABLE AS", "CREATE TABLE made AS"],
  ])(
    "end a statement that writes the rows of a query, and it writes nothing: %s",
    async (_, begin) => {
      // It joins for very long, and finds no row.
      const join = "SELECT a.* FROM t a CROSS JOIN t b CROSS JOIN t c";
      const query = `${begin} ${join} WHERE a.price + b.price + c.price < -1`;
      const answer = await within(200, "/v1/sql", { query });
      expectFailure(answer, 504, 17, /longer than 200 ms/);
      await waitFor("the memory is given back", async () => (await takenByQueries()) === 0);
      expect(await joust.client.count("few")).toBe(ROWS);
      await waitFor("the name of the new table is free", async () => {
        const { status } = await joust.client.post("/v1/table/made/describe");
        return status === 404;
      });
    },
  );

  it.each(["0", "-1", "1.5", "NaN", "1e99", "0x10", "", " "])(
    "must be an integer of at least 1: %j",
    async (value) => {
      const headers = { "x-request-timeout-ms": value };
      const answer = await joust.client.request("/v1/table/few/count_rows", { body: {}, headers });
      expectFailure(answer, 400, 13, /`x-request-timeout-ms` must be an integer number/);
    },
  );

  it("may be longer than any timer", async () => {
    const answer = await within(999_999_999_999_999, "/v1/table/few/count_rows", {});
    expect([answer.status, answer.json]).toEqual([200, ROWS]);
  });

  it("do not affect a request that ends in time", async () => {
    expect((await within(60_000, "/v1/table/t/count_rows", {})).json).toBe(ROWS);
    const index = { column: "id", index_type: "BTREE" };
    const built = await within(60_000, "/v1/table/t/create_index", index);
    expect((await waitForJob(joust.client, built.json.transaction_id)).job_state).toBe("DONE");
  });

  it("leave the outcome of an update open, and its repetition with the same key gets it", async () => {
    // The update takes longer than the deadline on many cores too, and begins before it on a busy host.
    const body = { updates: [["name", slowText("name", 4)]] };
    const headers = { "idempotency-key": randomUUID() };
    const path = "/v1/table/few/update";
    const answer = await within(200, path, body, headers);
    expectFailure(answer, 504, 17, /its outcome is unknown; read the state .* `Idempotency-Key`/);
    const repeated = await joust.client.request(path, { body, headers });
    expect([repeated.status, repeated.text]).toEqual([
      200,
      expect.stringContaining(`"updated_rows":${ROWS}`),
    ]);
    expect(repeated.headers.get("idempotent-replayed")).toBe("true");
    const { json } = await joust.client.post("/v1/table/few/version/list", {});
    expect(json.versions).toHaveLength(2);
  });

  it("end an insert whose rows have not arrived, without a change", async () => {
    const body = items(10_000);
    const socket = connect(joust.server.port, "127.0.0.1");
    let answer = "";
    socket.on("data", (chunk) => (answer += chunk));
    socket.on("error", () => {});
    socket.write(
      head(
        "POST /v1/table/few/insert HTTP/1.1",
        "Host: x",
        `Authorization: Bearer ${joust.server.key}`,
        `Content-Type: ${ARROW_STREAM}`,
        `Content-Length: ${body.length}`,
        "X-Request-Timeout-Ms: 300",
      ),
    );
    socket.write(body.subarray(0, body.length / 2));
    await waitFor("the reply", () => answer.includes("\r\n\r\n{"));
    socket.destroy();
    expect(answer).toMatch(/^HTTP\/1\.1 504 /);
    expect(answer).toContain("it changed nothing; allow more time");
    expect(await joust.client.count("few")).toBe(ROWS);
    const { json } = await joust.client.post("/v1/table/few/version/list", {});
    expect(json.versions).toHaveLength(2);
  });

  it("change nothing by SQL after a reply that says so", async () => {
    const name = `deleted_${threads}_${http}`;
    await joust.client.createTable(name, items(60, { dimension: 2 }));
    const untouched: number[] = [];
    for (let row = 0; row < 60; row++) {
      const query = `DELETE FROM ${name} WHERE id = ${row}`;
      const answer = await within(1 + (row % 4), "/v1/sql", { query });
      const { error = "" } = answer.status === 200 ? {} : answer.json;
      if (answer.status === 504 && !error.includes("unknown")) untouched.push(row);
    }
    // Longer than a delete that continues would take.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const predicate = `id IN (${[-1, ...untouched].join(", ")})`;
    expect(await joust.client.count(name, { predicate })).toBe(untouched.length);
  });

  it("never report an index build as certainly not queued", async () => {
    const index = { column: "price", index_type: "BTREE" };
    const answer = await within(1, "/v1/table/few/create_index", index);
    // The deadline may pass before the body has arrived: then nothing has changed.
    if (answer.status === 504) {
      expect(answer.json.error).toMatch(/its outcome is unknown|it changed nothing/);
    } else expect(answer.status).toBe(200);
    const isListed = async () => {
      const { json } = await joust.client.post("/v1/table/few/index/list", {});
      return json.indexes.some(({ columns }: Json) => columns.includes("price"));
    };
    if (answer.status === 200 || answer.json.error.includes("unknown")) {
      await waitFor("the index is built", isListed);
    } else expect(await isListed()).toBe(false);
  });
});

describe("--request-timeout", () => {
  const joust = setupServer({ args: ["--request-timeout", "300ms"] });

  it("limits every request, and a client can only shorten it", async () => {
    await joust.client.createTable("t", items(ROWS, { dimension: 2 }));
    const limit = /longer than 300 ms, the limit that `--request-timeout` sets/;
    expectFailure(await joust.client.post("/v1/sql", { query: endless }), 504, 17, limit);
    const headers = { "x-request-timeout-ms": "60000" };
    const body = { query: endless };
    expectFailure(await joust.client.request("/v1/sql", { body, headers }), 504, 17, limit);
    expect(await joust.client.count("t")).toBe(ROWS);
  });
});
