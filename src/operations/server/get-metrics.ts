import { accessTo } from "../../api/access.js";
import { type Operation, operation } from "../../api/operation.js";
import { nothing } from "../../api/schemas.js";
import { measureMetrics } from "./measure-metrics.js";

/** Requests, background work and memory in the text format of Prometheus, measured at each scrape. */
export const getMetrics: Operation = operation({
  id: "GetMetrics",
  methods: ["GET"],
  path: "/metrics",
  summary: "Requests, jobs, maintenance, memory and the audit log in the text format of Prometheus",
  tag: "Server",
  params: nothing,
  body: { kind: "none" },
  access: accessTo("server", "select"),
  mainThreadOnly: true,
  uses: ["audit", "config", "engine", "flightCalls", "jobs", "limits", "maintenance", "requests"],
  async handle(services) {
    const registry = await measureMetrics(services);
    const text = await registry.metrics();
    return { kind: "bytes", contentType: registry.contentType, bytes: Buffer.from(text) };
  },
});
