import { expect, it } from "vitest";
import { sqlPort } from "../flight/sql-port.js";
import { items } from "../harness/arrow.js";
import { FlightClient } from "../harness/flight-client.js";
import { startServer } from "../harness/server.js";
import { startServerForTest } from "../harness/setup-server.js";
import { tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";
import { type Sample, startCollector } from "./collector.js";

const withoutTraces = { OTEL_TRACES_EXPORTER: "none" };

it("OTLP gets the metrics of /metrics under the same names", async () => {
  const collector = await startCollector();
  const server = await startServerForTest({
    args: ["--audit-log", `${tempDir("audit")}/audit.log`, "--http-threads", "2"],
    env: {
      ...withoutTraces,
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${collector.url}/v1/metrics`,
      OTEL_METRIC_EXPORT_INTERVAL: "100",
    },
  });
  const { client } = server;
  await client.createTable("t", items(3));
  // A metric with labels has no sample before its first call.
  const flight = new FlightClient(`http://127.0.0.1:${sqlPort(server)}`, server.key);
  await flight.sql("SELECT * FROM t");
  flight.close();
  await client.ok("/v1/table/t/create_index", { column: "id", index_type: "BTREE" });
  const job = await waitFor("the number of jobs", () =>
    collector.samples.find(
      ({ name, attributes }) =>
        name === "joust_jobs" && attributes.kind === "index_build" && attributes.state === "DONE",
    ),
  );
  expect(job).toMatchObject({ type: "gauge", value: 1, resource: { "service.name": "joust" } });
  const scrape = (await client.get("/metrics")).text;
  const types = new Map(
    [...scrape.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]),
  );
  expect(types.size).toBeGreaterThan(10);
  const sent = () => new Map(collector.samples.map(({ name, type }) => [name, type]));
  await waitFor("all metrics", () =>
    [...types].every(([name, type]) => sent().get(name as string) === type),
  );
  expect([...sent().keys()].sort()).toEqual([...types.keys()].sort());
  expect(collector.spans).toEqual([]);
});

it("OTLP gets the metrics once more when the server stops", async () => {
  const collector = await startCollector();
  const server = await startServer({
    env: { ...withoutTraces, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  });
  await server.client.createTable("t", items(3));
  expect(await server.stop()).toBe(0);
  const { value } = collector.samples.find(
    ({ name, attributes }) => name === "joust_memory_share_bytes" && attributes.of === "budget",
  ) as Sample;
  expect(value).toBeGreaterThan(0);
});
