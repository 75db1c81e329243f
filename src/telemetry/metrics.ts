import { Gauge, Registry } from "prom-client";
import { type Operation, operation } from "../operations/operation.js";
import { nothing } from "../operations/schemas.js";
import type { Services } from "../services.js";

/** What is going on in the background, in Prometheus' text format, read at each scrape. */
export const getMetrics: Operation = operation({
  id: "GetMetrics",
  methods: ["GET"],
  path: "/metrics",
  summary: "Jobs and maintenance in the text format of Prometheus",
  tag: "Server",
  params: nothing,
  body: { kind: "none" },
  permission: "read",
  async handle(services) {
    const registry = await measure(services);
    const text = await registry.metrics();
    return { kind: "bytes", contentType: registry.contentType, bytes: Buffer.from(text) };
  },
});

async function measure({ jobs, maintenance, config }: Services): Promise<Registry> {
  const registry = new Registry();
  const registers = [registry];
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
  const byState = new Gauge({
    name: "joust_jobs",
    help: "Jobs by kind and state, over all servers; ended ones are kept for seven days",
    labelNames: ["kind", "state"],
    registers,
  });
  for (const { kind, state, count } of await jobs.counts()) byState.set({ kind, state }, count);
  gauge("joust_jobs_running_here", "Jobs that this server is at").set(jobs.running());
  gauge(
    "joust_maintenance_on",
    "1: tables are maintained unless their properties say otherwise",
  ).set(config.maintenance.on ? 1 : 0);
  const { tablesToLookAt, lastRoundMillis } = maintenance.progress();
  gauge(
    "joust_maintenance_tables_to_look_at",
    "Tables written through this server and not looked at since",
  ).set(tablesToLookAt);
  if (lastRoundMillis !== undefined) {
    gauge(
      "joust_maintenance_last_round_timestamp_seconds",
      "When this server last ended a round of all tables",
    ).set(lastRoundMillis / 1_000);
  }
  return registry;
}
