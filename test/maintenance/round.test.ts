import { expect, it, onTestFinished } from "vitest";
import { items } from "../harness/arrow.js";
import type { Client, Json } from "../harness/client.js";
import { startServer } from "../harness/server.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";

const stats = (client: Client, table: string): Promise<Json> =>
  client.ok(`/v1/table/${table}/stats`);

it("a maintenance round includes a table without writes", {
  timeout: 60_000,
}, async () => {
  const root = tempDir("round");
  onTestFinished(() => removeDir(root));
  const before = await startServer({ root, args: ["--maintenance", "off"] });
  await before.client.createTable("idle", items(10));
  for (let n = 0; n < 20; n++) await before.client.insert("idle", items(1, { from: 100 + n }));
  expect((await stats(before.client, "idle")).maintenance).toEqual({
    state: "off",
    compaction_due: true,
    num_unindexed_rows: 0,
    keep_versions_ms: 7 * 24 * 3600 * 1000,
  });
  await before.stop();

  const server = await startServer({ root });
  onTestFinished(async () => void (await server.stop()));
  const after = await waitFor("it is compacted", async () => {
    const now = await stats(server.client, "idle");
    return now.fragment_stats.num_fragments === 1 && now.maintenance.state === "idle" && now;
  });
  expect(after.maintenance).toMatchObject({ compaction_due: false, num_unindexed_rows: 0 });
  expect(after.maintenance.last_maintained_millis).toBeGreaterThan(0);
  expect(after.num_rows).toBe(30);
});

it("a server with maintenance off maintains a table whose property enables it", {
  timeout: 60_000,
}, async () => {
  const root = tempDir("round");
  onTestFinished(() => removeDir(root));
  const before = await startServer({ root });
  await before.client.createTable("plain", items(10));
  await before.client.createTable("asks", items(10), {
    properties: '{"joust.maintenance":"on"}',
  });
  for (let n = 0; n < 20; n++) {
    for (const table of ["plain", "asks"]) {
      await before.client.insert(table, items(1, { from: 100 + n }));
    }
  }
  // The kill comes before the server looks at the written tables.
  await before.kill();

  const server = await startServer({ root, args: ["--maintenance", "off"] });
  onTestFinished(async () => void (await server.stop()));
  await waitFor("it is compacted", async () => {
    const now = await stats(server.client, "asks");
    return now.fragment_stats.num_fragments === 1 && now.maintenance.state === "idle";
  });
  expect((await stats(server.client, "plain")).maintenance).toMatchObject({
    state: "off",
    compaction_due: true,
  });
});
