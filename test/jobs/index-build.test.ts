import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { expectFailure } from "../harness/expect-failure.js";
import { listIndexes, waitForIndex } from "../harness/indexes.js";
import { newKey, type Server } from "../harness/server.js";
import { startServerForTest } from "../harness/setup-server.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";

/** Enough rows for an HNSW build of several seconds. */
const MANY = { rows: 6_000, dimension: 128 };
const slowIndex = {
  column: "vector",
  index_type: "IVF_HNSW_SQ",
  name: "slow",
  distance_type: "l2",
  num_partitions: 1,
  m: 32,
  ef_construction: 400,
};

let root: string;
const key = newKey();

function serve(): Promise<Server> {
  root ??= tempDir("jobs");
  return startServerForTest({ root, key });
}

async function startSlowBuild(server: Server): Promise<void> {
  await server.client.createTable("t", items(MANY.rows, { dimension: MANY.dimension }));
  await server.client.ok("/v1/table/t/create_index", slowIndex);
  await waitFor("the build runs", async () => (await statuses(server)).includes("Building"));
}

/** The nice values of the index build threads: 0 is normal, 19 the lowest priority. */
function nicenesses(pid: number): number[] {
  const result = readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8");
    // The name, in brackets, may hold spaces; the niceness is the 19th field.
    const end = stat.lastIndexOf(")");
    const name = stat.slice(stat.indexOf("(") + 1, end);
    return name.startsWith("joust-build") ? [Number(stat.slice(end + 2).split(" ")[16])] : [];
  });
  expect(result.length).toBeGreaterThan(0);
  return result;
}

const statuses = async ({ client }: Server, id = "t"): Promise<string[]> =>
  (await listIndexes(client, id)).map((index) => index.status);

afterEach(() => {
  removeDir(root);
  root = undefined as unknown as string;
});

describe("an index build", () => {
  it("continues after the server is killed", async () => {
    const first = await serve();
    await startSlowBuild(first);
    await first.kill();
    const second = await serve();
    expect(await statuses(second)).not.toEqual(["Ready"]);
    const ready = await waitForIndex(second.client, "t", "slow");
    expect(ready).toMatchObject({ num_indexed_rows: MANY.rows, num_unindexed_rows: 0 });
  }, 120_000);

  it("does not delay a stop and continues after the restart", async () => {
    const first = await serve();
    await startSlowBuild(first);
    const asked = performance.now();
    expect(await first.stop()).toBe(0);
    expect(performance.now() - asked).toBeLessThan(12_000);
    const second = await serve();
    expect(await waitForIndex(second.client, "t", "slow")).toMatchObject({ num_unindexed_rows: 0 });
  }, 120_000);

  it("continues if its table is renamed", async () => {
    const server = await serve();
    await startSlowBuild(server);
    await server.client.ok("/v1/table/t/rename", { new_table_name: "u" });
    expect(await statuses(server, "u")).toEqual(["Building"]);
    await waitForIndex(server.client, "u", "slow");
  }, 120_000);

  it("leaves nothing if its table is dropped", async () => {
    const server = await serve();
    await startSlowBuild(server);
    await server.client.ok("/v1/table/t/drop", {});
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(existsSync(join(server.root, "t.lance"))).toBe(false);
    expect(readdirSync(server.root).filter((name) => name !== ".joust")).toEqual([]);
    await server.client.createTable("t", items(10));
    expect(await statuses(server)).toEqual([]);
  }, 120_000);

  it("is cancelled by a drop of the index", async () => {
    const server = await serve();
    await startSlowBuild(server);
    await server.client.ok("/v1/table/t/index/slow/drop", {});
    expect(await statuses(server)).toEqual([]);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(await statuses(server)).toEqual([]);
  }, 120_000);

  it("that was cancelled is removed by a drop of the index", async () => {
    const server = await serve();
    const { client } = server;
    await client.createTable("t", items(MANY.rows, { dimension: MANY.dimension }));
    const { job_id } = await client.ok("/v1/table/t/create_index/", slowIndex);
    await client.ok("/v1/jobs/cancel", { job_id });
    await client.ok("/v1/table/t/index/slow/drop", {});
    expect((await client.post("/v1/jobs/describe", { job_id })).status).toBe(404);
    expectFailure(await client.post("/v1/table/t/index/slow/drop"), 404, 6, /slow/);
  }, 120_000);

  it("that is cancelled reports the work that still runs, and that work has a low priority", async () => {
    const server = await serve();
    await server.client.createTable("t", items(MANY.rows, { dimension: MANY.dimension }));
    const { job_id } = await server.client.ok("/v1/table/t/create_index/", slowIndex);
    const job = () => server.client.ok("/v1/jobs/describe", { job_id });
    await waitFor("the build is at work", async () => (await job()).progress !== undefined);
    expect(await job()).not.toHaveProperty("warning");
    await server.client.ok("/v1/jobs/cancel", { job_id });
    expect(await job()).toMatchObject({
      job_state: "CANCELLED",
      warning: expect.stringMatching(/graph builds that already started continue/),
    });
    if (process.platform === "linux")
      expect(new Set(nicenesses(server.pid))).toEqual(new Set([10]));
  }, 120_000);

  it("of one table waits for builds of other tables, and all complete", async () => {
    const server = await serve();
    const tables = ["a", "b", "c", "d"];
    const indexes = [
      { column: "id", index_type: "BTREE", name: "by_id" },
      { column: "category", index_type: "BITMAP", name: "by_category" },
      { column: "vector", index_type: "IVF_FLAT", name: "by_vector", distance_type: "l2" },
    ];
    for (const table of tables) await server.client.createTable(table, items(1_000));
    await Promise.all(
      tables.flatMap((table) =>
        indexes.map((index) => server.client.ok(`/v1/table/${table}/create_index`, index)),
      ),
    );
    for (const table of tables) {
      for (const { name } of indexes) {
        const entry = await waitForIndex(server.client, table, name);
        expect(entry).toMatchObject({ num_indexed_rows: 1_000, num_unindexed_rows: 0 });
      }
    }
  }, 60_000);
});
