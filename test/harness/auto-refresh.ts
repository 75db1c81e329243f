import { setTimeout as delay } from "node:timers/promises";
import type { Client, Json } from "./client.js";
import { waitFor } from "./wait-for.js";

/** Adds `price * 2` as the column `twice`, which refreshes itself every second. */
export const addTwice = (client: Client, table: string, more: object = {}) =>
  client.ok(`/v1/table/${table}/add_columns`, {
    new_columns: [{ name: "twice", computed: "price * 2" }],
    auto_refresh_enabled: true,
    auto_refresh_interval_seconds: 1,
    ...more,
  });

/** Waits until the table has so many rows for which the predicate is true. */
export const hasRows = (client: Client, table: string, rows: number, predicate?: string) =>
  waitFor(
    `${table} has ${rows} rows ${predicate === undefined ? "" : `with ${predicate}`}`,
    async () => (await client.count(table, predicate === undefined ? {} : { predicate })) === rows,
    { timeoutMs: 30_000, intervalMs: 100 },
  );

export const isFilled = (client: Client, table: string, rows: number) =>
  hasRows(client, table, rows, "twice = price * 2");

/** The jobs of a kind on a table, newest first. */
export async function jobsOf(client: Client, table: string, kind: string): Promise<Json[]> {
  const { jobs } = await client.ok("/v1/jobs/list", { limit: 1_000 });
  return jobs.filter((job: Json) => job.job_type === kind && job.table === table);
}

/** Long enough for several checks. */
export const someChecks = () => delay(3_500);
