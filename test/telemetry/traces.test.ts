import { describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { type Postgres, postgresMissing, startPostgres } from "../harness/postgres.js";
import { type Server, startServer } from "../harness/server.js";
import { startServerForTest } from "../harness/setup-server.js";
import { waitFor } from "../harness/wait-for.js";
import { connections } from "../threads/connections.js";
import { type Collector, type Span, startCollector } from "./collector.js";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const sampled = { traceparent: `00-${TRACE}-${PARENT}-01` };

/** Batches are sent at once, and metrics not at all. */
const environment = (collector: Collector, more: Record<string, string> = {}) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  OTEL_METRICS_EXPORTER: "none",
  OTEL_BSP_SCHEDULE_DELAY: "20",
  ...more,
});

const spanNamed = (collector: Collector, name: string): Promise<Span> =>
  waitFor(`the span ${name}`, () => collector.spans.find((span) => span.name === name));

describe.each(["uws", "node"])("traces with --http %s", (http) => {
  it("record a request and the calls of the engine below it", async () => {
    const collector = await startCollector();
    const { client } = await startServerForTest({
      args: ["--http", http, "--log-level", "debug"],
      env: environment(collector),
    });
    await client.createTable("t", items(3));
    const query = await client.request("/v1/table/t/query", {
      body: { k: 3, vector: [], filter: "id > 4711" },
      headers: { ...sampled, "user-agent": "test-agent/1", "x-request-id": "request-1" },
    });
    expect(query.status).toBe(200);
    const request = await spanNamed(collector, "POST /v1/table/{id}/query");
    expect(request).toMatchObject({
      traceId: TRACE,
      parentSpanId: PARENT,
      kind: "SERVER",
      failed: false,
      attributes: {
        "http.request.method": "POST",
        "http.route": "/v1/table/{id}/query",
        "http.response.status_code": 200,
        "url.path": "/v1/table/t/query",
        "url.scheme": "http",
        "server.address": "127.0.0.1",
        "server.port": Number(new URL(client.url).port),
        "client.address": "127.0.0.1",
        "user_agent.original": "test-agent/1",
        "joust.operation": "QueryTable",
        "joust.object": "t",
        "joust.query.kind": "scan",
        "joust.request.id": "request-1",
        "thread.name": "main",
      },
    });
    const call = await spanNamed(collector, "engine Table.query");
    expect(call).toMatchObject({ traceId: TRACE, parentSpanId: request.spanId, kind: "INTERNAL" });
    expect(call.nanoseconds).toBeGreaterThan(0n);
    expect(call.nanoseconds).toBeLessThanOrEqual(request.nanoseconds);
    expect(
      JSON.stringify(collector.spans, (_, value) => (typeof value === "bigint" ? "" : value)),
    ).not.toContain("4711");
  });

  it("report failures without their messages", async () => {
    const collector = await startCollector();
    const { client } = await startServerForTest({
      args: ["--http", http],
      env: environment(collector),
    });
    await client.createTable("t", items(3));
    const body = { k: 3, vector: [], filter: "no_such_column = 'secret-value'" };
    expect((await client.post("/v1/table/t/query", body)).status).toBe(404);
    const request = await spanNamed(collector, "POST /v1/table/{id}/query");
    // A request that the client got wrong is no error of the server.
    expect(request.failed).toBe(false);
    expect(request.attributes).toMatchObject({ "joust.error.code": expect.any(Number) });
    const call = await spanNamed(collector, "engine Table.query");
    expect(call.failed).toBe(true);
    expect(call.attributes["error.type"]).toBe(String(request.attributes["joust.error.code"]));
    expect(
      collector.spans.flatMap(({ attributes }) => Object.values(attributes)).join(),
    ).not.toContain("secret-value");
  });
});

describe("traces", () => {
  it.runIf(process.platform === "linux")(
    "continue on every event loop, and in the main thread for its operations",
    async () => {
      const collector = await startCollector();
      const server = await startServerForTest({
        args: ["--http-threads", "2"],
        env: environment(collector),
      });
      const each = connections(server, 24);
      const created = await server.client.request("/v1/namespace/demo/create", {
        body: {},
        headers: sampled,
      });
      expect(created.status).toBe(200);
      await Promise.all(each.map((connection) => connection.post("/metrics/none")));
      await Promise.all(each.map((connection) => connection.post("/v1/namespace/demo/drop")));
      for (const connection of each) connection.close();
      const threads = await waitFor("spans of both threads", () => {
        const names = new Set(collector.spans.map(({ attributes }) => attributes["thread.name"]));
        return names.has("main") && names.has("joust-http-2") && collector.spans;
      });
      expect(new Set(threads.map(({ resource }) => resource["service.instance.id"])).size).toBe(1);
      const request = await waitFor("a request that called the main thread", () =>
        collector.spans.find(
          ({ name, spanId, attributes }) =>
            name === "POST /v1/namespace/{id}/drop" &&
            attributes["thread.name"] === "joust-http-2" &&
            collector.spans.some(({ parentSpanId }) => parentSpanId === spanId),
        ),
      );
      const below = collector.spans.filter(({ parentSpanId }) => parentSpanId === request.spanId);
      expect(below.map(({ name }) => name)).toContain("thread catalog.dropNamespace");
      expect(new Set(below.map(({ traceId }) => traceId))).toEqual(new Set([request.traceId]));
    },
  );

  it("link a job to the request that queued it", async () => {
    const collector = await startCollector();
    const { client } = await startServerForTest({ env: environment(collector) });
    await client.createTable("t", items(300));
    const queued = await client.request("/v1/table/t/create_index", {
      body: { column: "id", index_type: "BTREE" },
      headers: sampled,
    });
    expect(queued.status).toBe(200);
    const request = await spanNamed(collector, "POST /v1/table/{id}/create_index");
    const job = await waitFor("the span of the index build", () =>
      collector.spans.find(({ attributes }) => attributes["joust.job.name"] === "id_idx"),
    );
    expect(job).toMatchObject({ name: "job index_build", kind: "CONSUMER", parentSpanId: "" });
    expect(job.traceId).not.toBe(TRACE);
    expect(job.links).toEqual([{ traceId: TRACE, spanId: request.spanId }]);
    const build = await spanNamed(collector, "engine Table.buildIndex");
    expect(build).toMatchObject({ traceId: job.traceId, parentSpanId: job.spanId });
  });

  it("appear in the log lines of a request", async () => {
    const collector = await startCollector();
    const server = await startServerForTest({
      args: ["--log-level", "debug"],
      env: environment(collector),
    });
    await server.client.request("/v1/namespace/$/list", { body: {}, headers: sampled });
    const { spanId } = await spanNamed(collector, "POST /v1/namespace/{id}/list");
    const line = server
      .output()
      .split("\n")
      .find((one) => one.includes('"ListNamespaces"'));
    expect(JSON.parse(line as string)).toMatchObject({ trace_id: TRACE, span_id: spanId });
  });

  it("follow the sampler of the environment and the decision of the caller", async () => {
    const collector = await startCollector();
    const { client } = await startServerForTest({
      env: environment(collector, { OTEL_TRACES_SAMPLER: "parentbased_always_off" }),
    });
    await client.get("/v1/namespace/$/list");
    await client.request("/v1/namespace/$/list", { method: "GET", headers: sampled });
    const notSampled = { traceparent: `00-${TRACE}-${PARENT}-00` };
    await client.request("/v1/namespace/$/list", { method: "GET", headers: notSampled });
    await client.request("/v1/table/none/describe", { body: {}, headers: sampled });
    await spanNamed(collector, "POST /v1/table/{id}/describe");
    const requests = collector.spans.filter(({ kind }) => kind === "SERVER");
    expect(requests.map(({ name, parentSpanId }) => [name, parentSpanId])).toEqual([
      ["GET /v1/namespace/{id}/list", PARENT],
      ["POST /v1/table/{id}/describe", PARENT],
    ]);
  });

  it("send the headers and the resource of the environment, and nothing of the command line", async () => {
    const collector = await startCollector();
    const server = await startServer({
      env: environment(collector, {
        OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=films,authorization=Bearer%20collector-token",
        OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
        OTEL_SERVICE_NAME: "film-search",
        OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
        // Longer than the test: the spans are sent when the server stops.
        OTEL_BSP_SCHEDULE_DELAY: "600000",
      }),
      args: ["--storage-option", "some_option=hidden-value"],
    });
    await server.client.get("/v1/namespace/$/list");
    expect(collector.spans).toEqual([]);
    expect(await server.stop()).toBe(0);
    const { resource } = await spanNamed(collector, "GET /v1/namespace/{id}/list");
    expect(resource).toEqual({
      "service.name": "film-search",
      "service.version": expect.stringMatching(/^\d+\.\d+\.\d+/),
      "service.instance.id": expect.stringMatching(/^[\da-f-]{36}$/),
      "deployment.environment.name": "test",
    });
    expect(collector.headers[0]).toMatchObject({
      "x-tenant": "films",
      authorization: "Bearer collector-token",
      "content-encoding": "gzip",
      "content-type": "application/x-protobuf",
    });
    const sent = JSON.stringify(collector.spans.map(({ attributes }) => attributes));
    for (const secret of [server.key, "hidden-value"]) expect(sent).not.toContain(secret);
  });

  it("exclude health checks and the page of the documentation", async () => {
    const collector = await startCollector();
    const { client } = await startServerForTest({ env: environment(collector) });
    for (const path of ["/healthz", "/readyz", "/docs", "/v1/namespace/$/list"]) {
      expect((await client.get(path)).status).toBe(200);
    }
    await spanNamed(collector, "GET /v1/namespace/{id}/list");
    expect(collector.spans).toHaveLength(1);
  });
});

describe("a collector that is not available", () => {
  const reachable = async (server: Server) => {
    for (let n = 0; n < 20; n++) {
      expect((await server.client.get("/v1/namespace/$/list")).status).toBe(200);
    }
  };

  it("changes no reply and does not delay the end of the server", async () => {
    const server = await startServer({
      env: {
        // Nothing listens on this port.
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
        OTEL_BSP_SCHEDULE_DELAY: "10",
        OTEL_METRIC_EXPORT_INTERVAL: "50",
        OTEL_EXPORTER_OTLP_TIMEOUT: "100",
      },
    });
    await reachable(server);
    const line = await waitFor("the log names the failure", () =>
      server
        .output()
        .split("\n")
        .find((one) => one.includes("could not be sent")),
    );
    expect(JSON.parse(line)).toMatchObject({ level: 40, reason: expect.stringMatching(/\w/) });
    await reachable(server);
    expect(await server.stop()).toBe(0);
  });

  it("gets the spans after it, once it accepts them again", async () => {
    const collector = await startCollector();
    collector.status = 400;
    const { client } = await startServerForTest({ env: environment(collector) });
    await client.get("/v1/namespace/$/list");
    await waitFor("an export was refused", () => collector.headers.length > 0);
    collector.status = 200;
    await client.createNamespace("after");
    const { name } = await spanNamed(collector, "POST /v1/namespace/{id}/create");
    expect(name).toContain("create");
  });
});

describe.skipIf(postgresMissing)("traces of a server with a Postgres catalog", () => {
  it("contain each statement without its values", async () => {
    const postgres: Postgres = await startPostgres();
    try {
      const collector = await startCollector();
      const url = postgres.createDatabase();
      const server = await startServer({ args: ["--catalog", url], env: environment(collector) });
      await server.client.request("/v1/namespace/secret-name/create", {
        body: { properties: { owner: "secret-owner" } },
        headers: sampled,
      });
      const request = await spanNamed(collector, "POST /v1/namespace/{id}/create");
      await server.stop();
      const statements = collector.spans.filter(({ kind }) => kind === "CLIENT");
      const insert = statements.find(({ attributes }) =>
        /^insert into "namespaces"/.test(String(attributes["db.query.text"])),
      );
      const { hostname, port, pathname } = new URL(url);
      expect(insert).toMatchObject({
        name: "INSERT",
        traceId: TRACE,
        parentSpanId: request.spanId,
        attributes: {
          "db.system.name": "postgresql",
          "db.namespace": pathname.slice(1),
          "db.operation.name": "INSERT",
          "server.address": hostname,
          "server.port": Number(port),
        },
      });
      expect(statements.map(({ name }) => name)).toContain("COMMIT");
      // Polling the database makes no trace.
      expect(new Set(statements.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]));
      const texts = statements.map(({ attributes }) => attributes["db.query.text"]).join();
      expect(texts).not.toContain("secret-");
    } finally {
      await postgres.stop();
    }
  });
});
