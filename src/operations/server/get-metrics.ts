import { Counter, Gauge, Registry } from "prom-client";
import { accessTo } from "../../api/access.js";
import { type Operation, operation } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";
import type { Services } from "../../api/services.js";
import type { MemoryUsage } from "../../engine/index.js";

/** Background work and memory in the text format of Prometheus, measured at each scrape. */
export const getMetrics: Operation = operation({
  id: "GetMetrics",
  methods: ["GET"],
  path: "/metrics",
  summary: "Jobs, maintenance and memory in the text format of Prometheus",
  tag: "Server",
  params: nothing,
  body: { kind: "none" },
  access: accessTo("server", "select"),
  mainThreadOnly: true,
  uses: ["config", "engine", "jobs", "maintenance"],
  async handle(services) {
    const registry = await measure(services);
    const text = await registry.metrics();
    return { kind: "bytes", contentType: registry.contentType, bytes: Buffer.from(text) };
  },
});

async function measure({
  engine,
  jobs,
  maintenance,
  config,
}: Pick<Services, "config" | "engine" | "jobs" | "maintenance">): Promise<Registry> {
  const registry = new Registry();
  const registers = [registry];
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
  const byState = new Gauge({
    name: "joust_jobs",
    help: "Jobs by kind and state, over all servers; ended jobs are stored for seven days, of maintenance jobs the newest 20",
    labelNames: ["kind", "state"],
    registers,
  });
  for (const { kind, state, count } of await jobs.counts()) byState.set({ kind, state }, count);
  gauge("joust_jobs_running_here", "Jobs that this server runs").set(jobs.running());
  gauge(
    "joust_maintenance_on",
    "1: the server maintains tables unless their properties disable it",
  ).set(config.maintenance.on ? 1 : 0);
  const { pendingTables, lastRoundMillis } = maintenance.progress();
  gauge(
    "joust_maintenance_tables_to_look_at",
    "Tables written through this server and not checked since",
  ).set(pendingTables);
  if (lastRoundMillis !== undefined) {
    gauge(
      "joust_maintenance_last_round_timestamp_seconds",
      "When this server last completed a check of all tables",
    ).set(lastRoundMillis / 1_000);
  }
  measureMemory(engine.memory(), registers);
  const { requests, plans } = engine.ended();
  const counter = (name: string, help: string) => new Counter({ name, help, registers });
  counter("joust_timed_out_total", "Queries and view refreshes that exceeded the time limit").inc(
    requests,
  );
  counter("joust_plans_timed_out_total", "Statements whose planning exceeded the time limit").inc(
    plans,
  );
  return registry;
}

function measureMemory(memory: MemoryUsage, registers: Registry[]): void {
  const { budget, caches, work, uploads, queries, changes, jobs, waiting, refused } = memory;
  const share = new Gauge({
    name: "joust_memory_share_bytes",
    help: "The memory budget, and its shares for caches and for requests and jobs",
    labelNames: ["of"],
    registers,
  });
  for (const [of, bytes] of Object.entries({ budget, caches, work })) share.set({ of }, bytes);
  const taken = new Gauge({
    name: "joust_memory_taken_bytes",
    help: "Memory that requests and jobs use of their share",
    labelNames: ["by"],
    registers,
  });
  for (const [by, bytes] of Object.entries({ uploads, queries, changes, jobs })) {
    taken.set({ by }, bytes);
  }
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
  gauge("joust_memory_waiting", "Requests and jobs that wait for memory").set(waiting);
  const refusals = new Counter({
    name: "joust_memory_refused_total",
    help: "Requests that were refused because no memory was available",
    registers,
  });
  refusals.inc(refused);
}
