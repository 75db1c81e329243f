import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { addTwice, hasRows, isFilled, jobsOf, someChecks } from "../harness/auto-refresh.js";
import type { Json } from "../harness/client.js";
import { waitForIndex } from "../harness/indexes.js";
import { slowExpression, waitForJob } from "../harness/jobs.js";
import { type Server, startServer } from "../harness/server.js";
import { setupServer, startServerForTest } from "../harness/setup-server.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";

const joust = setupServer();

describe("a computed column with auto_refresh_enabled", () => {
  it("is filled after the column is added, and after each change of its inputs", async () => {
    const { client } = joust;
    await client.createTable("changing", items(100));
    await addTwice(client, "changing");
    await isFilled(client, "changing", 100);
    await client.insert("changing", items(20, { from: 100 }));
    await isFilled(client, "changing", 120);
    await client.ok("/v1/table/changing/update", {
      predicate: "id < 5",
      updates: [["price", "7"]],
    });
    await isFilled(client, "changing", 120);
    expect(await client.count("changing", { predicate: "twice = 14" })).toBeGreaterThanOrEqual(5);
  });

  it("is computed only in the fragments that have changed", async () => {
    const { client } = joust;
    await client.createTable("appended", items(1_000));
    await addTwice(client, "appended");
    await isFilled(client, "appended", 1_000);
    await client.insert("appended", items(10, { from: 1_000 }));
    await isFilled(client, "appended", 1_010);
    const [newest] = await jobsOf(client, "appended", "backfill");
    const job = await waitForJob(client, (newest as Json).job_id);
    expect(job.result).toMatchObject({ rows_assigned: 10, rows_failed: 0, rows_remaining: 0 });
    expect(job.progress.total).toBe(10);
  });

  it("has no jobs while nothing changes, and none for a new index or a deletion", async () => {
    const { client } = joust;
    await client.createTable("resting", items(300));
    await addTwice(client, "resting");
    await isFilled(client, "resting", 300);
    await someChecks();
    const before = await jobsOf(client, "resting", "backfill");
    await client.ok("/v1/table/resting/create_scalar_index", { column: "id", index_type: "BTREE" });
    await waitForIndex(client, "resting", "id_idx");
    await client.ok("/v1/table/resting/delete", { predicate: "id < 10" });
    await someChecks();
    expect((await jobsOf(client, "resting", "backfill")).map(({ job_id }) => job_id)).toEqual(
      before.map(({ job_id }) => job_id),
    );
  });

  it("is filled anew after it was dropped and added with another expression", async () => {
    const { client } = joust;
    await client.createTable("replaced", items(50));
    await addTwice(client, "replaced", {
      new_columns: [{ name: "twice", computed: "price * 3" }],
    });
    await hasRows(client, "replaced", 50, "twice = price * 3");
    await client.ok("/v1/table/replaced/drop_columns", { columns: ["twice"] });
    await addTwice(client, "replaced");
    await isFilled(client, "replaced", 50);
  });

  it("has values in rows that are inserted while it is filled", async () => {
    const { client } = joust;
    await client.createTable("meanwhile", items(20_000));
    await addTwice(client, "meanwhile", {
      new_columns: [{ name: "twice", computed: slowExpression("name") }],
    });
    await waitFor("the backfill runs", async () => {
      const [job] = await jobsOf(client, "meanwhile", "backfill");
      return job?.state === "IN_PROGRESS";
    });
    await client.insert("meanwhile", items(10, { from: 20_000 }));
    await hasRows(client, "meanwhile", 20_010, "twice is not null");
  });

  it("is filled again after a restore", async () => {
    const { client } = joust;
    await client.createTable("restored", items(40));
    await addTwice(client, "restored");
    await isFilled(client, "restored", 40);
    await someChecks();
    await client.ok("/v1/table/restored/restore", { version: 2 });
    expect(await client.count("restored", { predicate: "twice is null" })).toBe(40);
    await isFilled(client, "restored", 40);
  });

  it("is refreshed although another column of the table cannot be", async () => {
    const { client } = joust;
    await client.createTable("neighbours", items(10));
    await addTwice(client, "neighbours", {
      new_columns: [{ name: "broken", computed: "id + 1" }],
    });
    await hasRows(client, "neighbours", 10, "broken = id + 1");
    await addTwice(client, "neighbours");
    await client.ok("/v1/table/neighbours/drop_columns", { columns: ["id"] });
    await isFilled(client, "neighbours", 10);
    await client.ok("/v1/table/neighbours/update", { updates: [["price", "3"]] });
    await hasRows(client, "neighbours", 10, "twice = 6");
  });

  it("is filled by a later job if a job is cancelled", async () => {
    const { client } = joust;
    await client.createTable("cancelled", items(20_000));
    await addTwice(client, "cancelled", {
      new_columns: [{ name: "twice", computed: slowExpression("name") }],
    });
    const job = await waitFor("the backfill runs", async () => {
      const [newest] = await jobsOf(client, "cancelled", "backfill");
      return newest?.state === "IN_PROGRESS" && newest;
    });
    await client.ok("/v1/jobs/cancel", { job_id: job.job_id });
    await hasRows(client, "cancelled", 20_000, "twice is not null");
    const jobs = await jobsOf(client, "cancelled", "backfill");
    const cancelled = jobs.find(({ job_id }) => job_id === job.job_id);
    expect([jobs.length, cancelled?.state]).toEqual([2, "CANCELLED"]);
  });

  it("is checked at its own interval beside a column with a longer one", async () => {
    const { client } = joust;
    await client.createTable("intervals", items(10));
    await addTwice(client, "intervals", {
      new_columns: [{ name: "daily", computed: "id + 1" }],
      auto_refresh_interval_seconds: 86_400,
    });
    await hasRows(client, "intervals", 10, "daily = id + 1");
    await addTwice(client, "intervals");
    await isFilled(client, "intervals", 10);
    await client.insert("intervals", items(5, { from: 10 }));
    await isFilled(client, "intervals", 15);
    expect(await client.count("intervals", { predicate: "daily is null" })).toBe(5);
  });

  it("is not refreshed any more when the declaration is changed", async () => {
    const { client } = joust;
    await client.createTable("stopped", items(30));
    await addTwice(client, "stopped");
    await isFilled(client, "stopped", 30);
    await client.ok("/v1/table/stopped/update_field_metadata", {
      updates: [{ path: "twice", metadata: { "computed_column.auto_refresh_enabled": "false" } }],
    });
    await client.insert("stopped", items(5, { from: 30 }));
    await someChecks();
    expect(await client.count("stopped", { predicate: "twice is null" })).toBe(5);
  });

  it("is not refreshed without the declaration, or with maintenance off", async () => {
    const { client } = joust;
    await client.createTable("undeclared", items(10));
    await addTwice(client, "undeclared", { auto_refresh_enabled: false });
    const off = await startServerForTest({ args: ["--maintenance", "off"] });
    await off.client.createTable("off", items(10));
    await addTwice(off.client, "off");
    await delay(5_000);
    expect(await client.count("undeclared", { predicate: "twice is null" })).toBe(10);
    expect(await off.client.count("off", { predicate: "twice is null" })).toBe(10);
  });
});

it("what refreshes itself is refreshed by one of two servers, also after a restart", async () => {
  const root = tempDir("auto-refresh");
  let servers: Server[] = [];
  try {
    servers = [await startServer({ root }), await startServer({ root })];
    const [first, second] = servers as [Server, Server];
    await first.client.createTable("shared", items(20));
    await addTwice(first.client, "shared");
    await isFilled(second.client, "shared", 20);
    await second.client.insert("shared", items(10, { from: 20 }));
    await isFilled(first.client, "shared", 30);
    await someChecks();
    // The first fill, and one for the insert: not one for each server.
    const jobs = await jobsOf(first.client, "shared", "backfill");
    expect(jobs.length).toBeLessThanOrEqual(3);
    await Promise.all(servers.map((server) => server.stop()));
    servers = [await startServer({ root })];
    const { client } = servers[0] as Server;
    await client.insert("shared", items(5, { from: 30 }));
    await isFilled(client, "shared", 35);
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    removeDir(root);
  }
});

it("a server with maintenance off leaves the refreshes to the others", async () => {
  const root = tempDir("auto-refresh-mixed");
  const off = await startServer({ root, args: ["--maintenance", "off"] });
  const on = await startServer({ root });
  try {
    await off.client.createTable("mixed", items(10));
    await addTwice(off.client, "mixed");
    await isFilled(off.client, "mixed", 10);
    for (const n of [1, 2]) {
      await off.client.insert("mixed", items(10, { from: 10 * n }));
      await isFilled(off.client, "mixed", 10 * (n + 1));
    }
  } finally {
    await Promise.all([on, off].map((server) => server.stop()));
    removeDir(root);
  }
});
