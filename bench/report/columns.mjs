/** @import { Report, Result } from "../types.js" */
import { count, figure, size } from "./format.mjs";

/**
 * The columns of the result tables, in text and HTML.
 *
 * @type {readonly { head: string, cell: (result: Result, report: Report) => string }[]}
 */
export const columns = [
  { head: "clients", cell: ({ clients }) => String(clients) },
  { head: "contender", cell: ({ contender }) => contender },
  { head: "requests/s", cell: ({ rate }) => figure(rate) },
  { head: "slowest to fastest round", cell: spread },
  { head: "p50 ms", cell: ({ p50 }) => figure(p50) },
  { head: "p95 ms", cell: ({ p95 }) => figure(p95) },
  { head: "p99 ms", cell: ({ p99 }) => figure(p99) },
  { head: "CPU s/1,000", cell: ({ cpuSecondsPer1000 }) => figure(cpuSecondsPer1000) },
  { head: "main thread", cell: ({ mainThreadCpu }) => percent(mainThreadCpu) },
  { head: "resident", cell: ({ residentBytes }) => size(residentBytes) },
  { head: "recall", cell: ({ recall }) => (recall === undefined ? "" : recall.toFixed(3)) },
  { head: "rows", cell: ({ rows }) => figure(rows) },
  { head: "of joust", cell: share },
  { head: "notes", cell: notes },
];

/** @param {number | undefined} share */
function percent(share) {
  return share === undefined ? "" : `${Math.round(share * 100)} %`;
}

/** @param {Result} result */
function spread({ rates: [least, most], rounds }) {
  return rounds > 1 ? `${figure(least)} to ${figure(most)}` : "";
}

/** The speed as a multiple of the speed of joust. @param {Result} result @param {Report} report */
function share({ scenario, clients, rate }, { results, contenders }) {
  const joust = contenders.find(({ key }) => key === "joust")?.title;
  const ours = results.find(
    (other) =>
      other.contender === joust && other.scenario === scenario && other.clients === clients,
  );
  return ours ? `${figure(rate / ours.rate)}` : "";
}

/** @param {Result} result */
function notes({ failures, loaderCpu, seconds, bytes, rows }) {
  const parts = [];
  if (failures > 0) parts.push(`${count(failures)} FAILED`);
  // The load generator may be the bottleneck.
  if (loaderCpu !== undefined && loaderCpu > 0.8) parts.push("load generator busy");
  if (seconds !== undefined && bytes !== undefined) parts.push(`${size(bytes / seconds)}/s`);
  if (seconds !== undefined && rows > 1) parts.push(`${figure(rows / seconds)} rows/s`);
  return parts.join(", ");
}
