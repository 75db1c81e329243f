import type { DataType } from "apache-arrow";
import type { AuditEntry } from "./audit-log.js";

/** A value of a column before Arrow converts it; a timestamp in ms. */
type Value = string | number | bigint | boolean | null;

const json = (value: unknown): string | null =>
  value === undefined ? null : JSON.stringify(value);
const whole = (value: number | undefined): bigint | null =>
  value === undefined ? null : BigInt(Math.round(value));

/** The columns of the audit table, all nullable, by their names. `entry`: one line of the log. */
async function columns(): Promise<Record<string, [DataType, (entry: AuditEntry) => Value]>> {
  // Loaded at first use: the package is large.
  const { Bool, Float64, Int32, Int64, Timestamp, TimeUnit, Utf8 } = await import("apache-arrow");
  const text = new Utf8();
  return {
    time: [new Timestamp(TimeUnit.MICROSECOND, "UTC"), ({ time }) => Date.parse(time)],
    request_id: [text, (entry) => entry.request_id],
    trace_id: [text, (entry) => entry.trace_id ?? null],
    remote: [text, (entry) => entry.remote],
    identity_id: [text, ({ identity }) => identity?.id ?? null],
    identity_name: [text, ({ identity }) => identity?.name ?? null],
    operation: [text, (entry) => entry.operation],
    object: [text, (entry) => entry.object ?? null],
    status: [new Int32(), (entry) => entry.status],
    error: [new Int32(), (entry) => entry.error ?? null],
    after_end: [new Bool(), (entry) => entry.after_end ?? false],
    ms: [new Float64(), (entry) => entry.ms],
    query: [text, (entry) => entry.query ?? null],
    transaction: [text, (entry) => entry.transaction ?? null],
    version: [new Int64(), (entry) => whole(entry.version)],
    credentials: [text, (entry) => entry.credentials ?? null],
    rows: [text, (entry) => json(entry.rows)],
    request_bytes: [new Int64(), (entry) => whole(entry.request_bytes)],
    reply_bytes: [new Int64(), (entry) => whole(entry.reply_bytes)],
    grant: [text, (entry) => json(entry.grant)],
    parts: [text, (entry) => json(entry.parts)],
  };
}

/** Lines of the audit log as an Arrow IPC stream: the columns of the audit table. */
export async function auditRows(lines: readonly string[]): Promise<Uint8Array> {
  const { Field, Schema, Table, tableToIPC, vectorFromArray } = await import("apache-arrow");
  const entries = lines.map((line): AuditEntry => JSON.parse(line));
  const all = Object.entries(await columns());
  const vectors = all.map(([name, [type, read]]) => [
    name,
    vectorFromArray(entries.map(read), type),
  ]);
  const schema = new Schema(all.map(([name, [type]]) => new Field(name, type, true)));
  return tableToIPC(new Table(schema, Object.fromEntries(vectors)), "stream");
}
