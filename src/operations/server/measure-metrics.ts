import { Counter, Gauge, Registry } from "prom-client";
import type { Services } from "../../api/services.js";
import { flightStats, type MemoryUsage } from "../../engine/index.js";
import type { AuditCounters } from "../../telemetry/audit/audit-log.js";
import { authCounts } from "../../telemetry/auth-counts.js";
import { measureRequests } from "./measure-requests.js";

const HTTP = {
  count: "joust_http_requests_total",
  countHelp: "HTTP requests that have ended, by operation and status; 499: the client disconnected",
  duration: "joust_http_request_duration_seconds",
  durationHelp: "From the head of an HTTP request to the end of its reply, by operation",
};

const FLIGHT = {
  count: "joust_flight_requests_total",
  countHelp:
    "Calls of Flight SQL that have ended, by method and the HTTP status of their gRPC code",
  duration: "joust_flight_request_duration_seconds",
  durationHelp: "Durations of calls of Flight SQL, by method",
};

/** The services that have something to measure. */
type Measured = Pick<
  Services,
  "audit" | "config" | "engine" | "flightCalls" | "jobs" | "limits" | "maintenance" | "requests"
>;

/** Measures all metrics of the process. */
export async function measureMetrics({
  audit,
  engine,
  flightCalls,
  jobs,
  limits,
  maintenance,
  config,
  requests: httpRequests,
}: Measured): Promise<Registry> {
  const registry = new Registry();
  const registers = [registry];
  measureRequests(httpRequests, HTTP, registry);
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
  measureFlight(registers);
  if (flightCalls && flightStats()) measureRequests(flightCalls, FLIGHT, registry);
  const { requests, plans } = engine.ended();
  const counter = (name: string, help: string) => new Counter({ name, help, registers });
  counter("joust_timed_out_total", "Queries and view refreshes that exceeded the time limit").inc(
    requests,
  );
  counter("joust_plans_timed_out_total", "Statements whose planning exceeded the time limit").inc(
    plans,
  );
  measureAuth(config.oidc !== undefined, registers);
  if (limits) countRefusals(limits, registers);
  if (audit) measureAudit(audit.counters(), registers);
  return registry;
}

function measureAuth(hasProvider: boolean, registers: Registry[]): void {
  const { caches, provider } = authCounts();
  const lookups = new Counter({
    name: "joust_auth_cache_lookups_total",
    help: "Lookups in the caches of keys, verified tokens, grants and derived privileges, by result",
    labelNames: ["cache", "result"],
    registers,
  });
  for (const { cache, hits, misses } of caches) {
    lookups.inc({ cache, result: "hit" }, hits);
    lookups.inc({ cache, result: "miss" }, misses);
  }
  if (!hasProvider) return;
  const fetches = new Counter({
    name: "joust_identity_provider_fetches_total",
    help: "Fetches of the keys of the identity provider, by result",
    labelNames: ["result"],
    registers,
  });
  fetches.inc({ result: "ok" }, provider.fetches);
  fetches.inc({ result: "failed" }, provider.failedFetches);
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
  gauge(
    "joust_identity_provider_unreachable",
    "1: the last fetch of the keys of the identity provider failed; former keys stay in use",
  ).set(provider.isFailing ? 1 : 0);
  if (provider.fetchedAtMillis === undefined) return;
  gauge(
    "joust_identity_provider_keys_timestamp_seconds",
    "When the keys of the identity provider in use were fetched; of several threads, the oldest",
  ).set(provider.fetchedAtMillis / 1_000);
}

function measureAudit(
  { lines, lost, writeErrors, table }: AuditCounters,
  registers: Registry[],
): void {
  const counter = (name: string, help: string) => new Counter({ name, help, registers });
  counter("joust_audit_lines_total", "Lines in the audit log").inc(lines);
  counter(
    "joust_audit_lost_lines_total",
    "Lines that the audit log lacks because its disk was full or failing",
  ).inc(lost);
  counter(
    "joust_audit_write_errors_total",
    "Writes, rotations and closes of the audit log that failed",
  ).inc(writeErrors);
  if (!table) return;
  counter("joust_audit_table_rows_total", "Lines of the audit log in the audit table").inc(
    table.rows,
  );
  counter(
    "joust_audit_table_lost_lines_total",
    "Lines of the audit log that the audit table lacks because its storage was failing",
  ).inc(table.lost);
  counter("joust_audit_table_write_errors_total", "Appends to the audit table that failed").inc(
    table.writeErrors,
  );
}

function countRefusals(limits: NonNullable<Measured["limits"]>, registers: Registry[]): void {
  const counter = new Counter({
    name: "joust_limit_refused_total",
    help: "Requests that a limit of --limits refused, by what the limit applies to and by its name",
    labelNames: ["scope", "limit"],
    registers,
  });
  for (const { scope, limit, count } of limits.refusals()) counter.inc({ scope, limit }, count);
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

function measureFlight(registers: Registry[]): void {
  const stats = flightStats();
  if (!stats) return;
  const { calls, failed, active, streams, connections, sent } = stats;
  const counter = (name: string, help: string) => new Counter({ name, help, registers });
  counter("joust_flight_calls_total", "Calls of Flight SQL").inc(calls);
  counter("joust_flight_calls_failed_total", "Calls of Flight SQL that failed").inc(failed);
  counter("joust_flight_sent_bytes_total", "Bytes of rows that Flight SQL has sent").inc(sent);
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
  gauge("joust_flight_calls", "Calls of Flight SQL in flight").set(active);
  gauge("joust_flight_streams", "Streams of rows of Flight SQL in flight").set(streams);
  gauge("joust_flight_connections", "Open connections of Flight SQL").set(connections);
}
