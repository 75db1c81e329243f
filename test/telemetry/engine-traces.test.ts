import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { sqlPort } from "../flight/sql-port.js";
import { items, vectors } from "../harness/arrow.js";
import type { Client } from "../harness/client.js";
import { FlightClient } from "../harness/flight-client.js";
import { type S3, s3Missing, startS3 } from "../harness/s3.js";
import { startServerForTest } from "../harness/setup-server.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";
import { type Collector, type Span, startCollector } from "./collector.js";

/** Batches of spans are sent at once, and metrics not at all. */
const environment = (collector: Collector) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  OTEL_METRICS_EXPORTER: "none",
  OTEL_BSP_SCHEDULE_DELAY: "20",
});

/** Sends a request as the first span of a new trace. Returns the spans of the trace, after `last` has arrived. */
async function traced(
  collector: Collector,
  client: Client,
  path: string,
  body: object,
  last: string,
): Promise<Span[]> {
  const trace = crypto.randomUUID().replaceAll("-", "");
  const traceparent = `00-${trace}-b7ad6b7169203331-01`;
  const answer = await client.request(path, { body, headers: { traceparent } });
  expect(answer.status, answer.text).toBe(200);
  const own = () => collector.spans.filter(({ traceId }) => traceId === trace);
  await waitFor(`the span ${last}`, () => own().some(({ name }) => name === last));
  return own();
}

/** The spans directly below the one with this name. */
function below(spans: readonly Span[], name: string): Span[] {
  const parent = spans.find((span) => span.name === name);
  expect(parent, `the span ${name} in ${spans.map((span) => span.name)}`).toBeDefined();
  return spans.filter(({ parentSpanId }) => parentSpanId === parent?.spanId);
}

const names = (spans: readonly Span[]): string[] => spans.map(({ name }) => name);

/** No values of requests, although a span names its phase and its strategy. */
function expectNoValues(spans: readonly Span[], value: string): void {
  const texts = spans.flatMap(({ name, attributes }) => [name, ...Object.values(attributes)]);
  expect(texts.join()).not.toContain(value);
}

describe("spans of the engine", () => {
  it("show the phases and the strategy of a query below the call", async () => {
    const collector = await startCollector();
    const { client } = await startServerForTest({ env: environment(collector) });
    await client.createTable("t", items(300));
    const scan = { k: 3, vector: [], filter: "id > 47 AND name <> '4711'" };
    const path = "/v1/table/t/query";
    const route = "POST /v1/table/{id}/query";
    const spans = await traced(collector, client, path, scan, route);
    const phases = below(spans, "engine Table.query");
    expect(names(phases)).toEqual(["open version", "plan query", "execute query"]);
    expect(phases[1]?.attributes).toMatchObject({
      "joust.strategy": expect.stringMatching(/^(scan|reads)$/),
    });
    expectNoValues(spans, "4711");
    const call = spans.find(({ name }) => name === "engine Table.query");
    for (const { nanoseconds } of phases) {
      expect(nanoseconds).toBeLessThanOrEqual(call?.nanoseconds as bigint);
    }
    const [vector] = vectors(1, 8);
    const nearest = { k: 3, vector: { single_vector: vector } };
    const search = await traced(collector, client, path, nearest, route);
    const plan = search.find(({ name }) => name === "plan query");
    expect(plan?.attributes).toMatchObject({ "joust.strategy": "nearest" });
  });

  it("show the steps of a commit below the change that commits", async () => {
    const collector = await startCollector();
    const { client } = await startServerForTest({ env: environment(collector) });
    await client.createTable("t", items(30));
    const path = "/v1/table/t/delete";
    const body = { predicate: "id = 7" };
    const spans = await traced(collector, client, path, body, "POST /v1/table/{id}/delete");
    expect(names(below(spans, "commit"))).toEqual(["fsync", "write manifest"]);
  });

  it("show the group commit below an insert", async () => {
    const collector = await startCollector();
    const { client } = await startServerForTest({ env: environment(collector) });
    await client.createTable("t", items(30));
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const inserted = await client.request("/v1/table/t/insert", {
      body: items(5, { from: 30 }),
      headers: { traceparent },
    });
    expect(inserted.status, inserted.text).toBe(200);
    await waitFor("the span of the insert", () =>
      names(collector.spans).includes("POST /v1/table/{id}/insert"),
    );
    const own = collector.spans.filter(({ traceId }) => traceparent.includes(traceId));
    const phases = below(own, "engine Table.append");
    expect(names(phases)).toEqual(expect.arrayContaining(["prepare group", "commit"]));
    const prepared = phases.find(({ name }) => name === "prepare group");
    expect(prepared?.attributes).toMatchObject({ "joust.uploads": 1 });
    expect(names(below(own, "commit"))).toEqual(["fsync", "write manifest"]);
  });

  it("show the phases of a statement", async () => {
    const collector = await startCollector();
    const { client } = await startServerForTest({ env: environment(collector) });
    await client.createTable("t", items(30));
    const body = { query: "SELECT count(*) AS n FROM t WHERE name <> '4711'" };
    const spans = await traced(collector, client, "/v1/sql", body, "POST /v1/sql");
    const phases = spans.filter(({ name }) => name.startsWith("engine Engine."));
    const parents = new Set(phases.map(({ spanId }) => spanId));
    const own = spans.filter(({ parentSpanId }) => parents.has(parentSpanId));
    expect(names(own)).toEqual(
      expect.arrayContaining(["open versions", "plan", "execute statement"]),
    );
    expectNoValues(spans, "4711");
  });

  it("show the phases of a statement of Flight SQL, which reads or changes", async () => {
    const collector = await startCollector();
    const server = await startServerForTest({ env: environment(collector) });
    await server.client.createTable("t", items(30));
    const flight = new FlightClient(`http://127.0.0.1:${sqlPort(server)}`, server.key);
    onTestFinished(() => flight.close());
    const callOf = async (method: string, engine: string): Promise<readonly Span[]> => {
      const { spans } = collector;
      const call = await waitFor(`${engine} below ${method}`, () =>
        spans.find(({ spanId, attributes }) => {
          const own = spans.filter(({ parentSpanId }) => parentSpanId === spanId);
          return attributes["rpc.method"] === method && names(own).includes(engine);
        }),
      );
      return spans.filter(({ traceId }) => traceId === call.traceId);
    };
    expect((await flight.sql("SELECT * FROM t WHERE name <> '4711'")).numRows).toBe(30);
    const read = await callOf("DoGet", "engine Engine.sqlRows");
    expect(names(read)).toEqual(expect.arrayContaining(["plan", "execute statement"]));
    expectNoValues(read, "4711");
    await flight.sql("DELETE FROM t WHERE id = 4711 OR id = 3");
    const change = await callOf("DoGet", "engine Table.delete");
    expect(names(change)).toContain("commit");
    expectNoValues(change, "4711");
  });

  it("show the work of a job below its call", async () => {
    const collector = await startCollector();
    const { client } = await startServerForTest({ env: environment(collector) });
    await client.createTable("t", items(300));
    await client.ok("/v1/table/t/create_index", { column: "id", index_type: "BTREE" });
    await waitFor("the span of the job", () => names(collector.spans).includes("job index_build"));
    const phases = below(collector.spans, "engine Table.buildIndex");
    expect(names(phases)).toContain("build index");
  });

  it("appear at the same time in calls that run side by side, each with its own", async () => {
    const collector = await startCollector();
    const { client } = await startServerForTest({ env: environment(collector) });
    await client.createTable("t", items(30));
    const body = { k: 3, vector: [] };
    const route = "POST /v1/table/{id}/query";
    const all = await Promise.all(
      Array.from({ length: 20 }, () => traced(collector, client, "/v1/table/t/query", body, route)),
    );
    for (const spans of all) {
      const phases = ["open version", "plan query", "execute query"];
      // Each call also has the storage requests for the table that they all read, and spans of Lance.
      const own = names(below(spans, "engine Table.query"));
      expect(own.filter((name) => phases.includes(name))).toEqual(phases);
    }
  });
});

describe.skipIf(s3Missing)("spans of storage requests", () => {
  let s3: S3;
  beforeAll(async () => {
    s3 = await startS3();
  });
  afterAll(() => s3.stop());

  it("have the method, the path and the size, below the phase that sent them", async () => {
    const collector = await startCollector();
    const root = `${s3.createBucket()}/tables`;
    const catalog = tempDir("trace-catalog");
    onTestFinished(() => removeDir(catalog));
    const options = {
      root,
      env: { ...s3.env, ...environment(collector) },
      args: ["--catalog", `${catalog}/names.db`],
    };
    const first = await startServerForTest(options);
    await first.client.createTable("t", items(3000));
    await first.stop();
    // The next server has nothing in its caches.
    const { client } = await startServerForTest(options);
    const body = { k: 3, vector: [], filter: "name <> '4711'" };
    const route = "POST /v1/table/{id}/query";
    const spans = await traced(collector, client, "/v1/table/t/query", body, route);
    const requests = spans.filter(({ name }) => name.startsWith("storage "));
    const data = requests.filter(({ attributes }) =>
      /^tables\/t\.lance\/data\//.test(String(attributes["joust.storage.path"])),
    );
    expect(data.length, names(spans).join()).toBeGreaterThan(0);
    for (const request of data) {
      expect(request).toMatchObject({ name: "storage GET", kind: "CLIENT" });
      expect(request.attributes["joust.storage.size"]).toBeGreaterThan(0);
    }
    // The manifest is read while the version is opened.
    const opened = spans.find(({ name }) => name === "open version");
    expect(requests.map(({ parentSpanId }) => parentSpanId)).toContain(opened?.spanId);
    expectNoValues(spans, "4711");
    expectNoValues(spans, String(s3.env.AWS_SECRET_ACCESS_KEY));

    const remove = { predicate: "id = 4" };
    const last = "POST /v1/table/{id}/delete";
    const change = await traced(collector, client, "/v1/table/t/delete", remove, last);
    const written = change.filter(({ name }) => name === "storage PUT");
    const paths = written.map(({ attributes }) => String(attributes["joust.storage.path"]));
    expect(paths.join(), names(change).join()).toMatch(/tables\/t\.lance\/_deletions\//);
    const phases = new Set(change.map(({ spanId }) => spanId));
    for (const { parentSpanId } of written) expect(phases).toContain(parentSpanId);
  });
});
