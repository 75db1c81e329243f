import { rmSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { items, stream, tableOf, type } from "../harness/arrow.js";
import type { Client, Json } from "../harness/client.js";
import { expectFailure } from "../harness/expect-failure.js";
import { waitForIndex } from "../harness/indexes.js";
import { setupServer } from "../harness/setup-server.js";
import { waitFor } from "../harness/wait-for.js";

const joust = setupServer({ args: ["--keep-versions", "1s"] });
const slow = { timeoutMs: 25_000 };

async function insertMany(client: Client, table: string, times: number): Promise<void> {
  for (let n = 0; n < times; n++) await client.insert(table, items(20, { from: 1000 + 20 * n }));
}

const versionsOf = async (client: Client, table: string): Promise<number[]> => {
  const { versions } = await client.ok(`/v1/table/${table}/version/list`, {}, { limit: "1000" });
  return versions.map(({ version }: { version: number }) => version);
};

test("maintenance merges small fragments and indexes new rows without a request", async () => {
  const { client } = joust;
  await client.createTable("busy", items(300));
  await client.ok("/v1/table/busy/create_scalar_index", { column: "id", index_type: "BTREE" });
  await waitForIndex(client, "busy", "id_idx");
  await insertMany(client, "busy", 40);
  await waitFor(
    "the table is compacted and indexed",
    async () => {
      const { fragment_stats } = await client.ok("/v1/table/busy/stats");
      const stats = await client.ok("/v1/table/busy/index/id_idx/stats");
      return fragment_stats.num_fragments < 16 && stats.num_unindexed_rows === 0;
    },
    slow,
  );
  expect(await client.count("busy")).toBe(300 + 800);
  expect(await client.count("busy", { predicate: "id = 1799" })).toBe(1);

  const { jobs } = await client.ok("/v1/jobs/list", {});
  const kinds = jobs.filter((job: { table: string }) => job.table === "busy");
  expect(kinds.map(({ job_type }: { job_type: string }) => job_type)).toContain("maintenance");
});

test("version clean-up removes old versions except tagged ones and the newest", async () => {
  const { client } = joust;
  await client.createTable("old", items(10));
  await insertMany(client, "old", 5);
  await client.ok("/v1/table/old/tags/create", { tag: "keep", version: 3 });
  await waitFor(
    "old versions are removed",
    async () => (await versionsOf(client, "old")).sort().join() === "3,6",
    slow,
  );
  expect(await client.count("old", { version: 3 })).toBe(10 + 2 * 20);
  expect(await client.count("old")).toBe(10 + 5 * 20);
  const gone = await client.post("/v1/table/old/count_rows", { version: 2 });
  expect(gone.status).toBe(404);
});

test("a table whose property disables maintenance is left unchanged", async () => {
  const { client } = joust;
  const own = { properties: JSON.stringify({ "joust.maintenance": "off" }) };
  await client.createTable("alone", items(10), own);
  await client.createTable("other", items(10));
  await Promise.all([insertMany(client, "alone", 20), insertMany(client, "other", 20)]);
  await waitFor(
    "the other table is compacted",
    async () => {
      const { fragment_stats } = await client.ok("/v1/table/other/stats");
      return fragment_stats.num_fragments < 16;
    },
    slow,
  );
  const { fragment_stats } = await client.ok("/v1/table/alone/stats");
  expect(fragment_stats.num_fragments).toBe(21);
  expect(await versionsOf(client, "alone")).toHaveLength(21);
});

test("maintenance removes deleted rows from the data files", async () => {
  const { client } = joust;
  const ids = Array.from({ length: 1000 }, (_, n) => BigInt(n));
  await client.createTable("holes", stream({ id: [type.i64, ids] }));
  await client.ok("/v1/table/holes/delete", { predicate: "id < 500" });
  await waitFor(
    "no deleted rows are stored",
    async () => {
      const { num_rows, num_deleted_rows } = await client.ok("/v1/table/holes/stats/");
      return num_rows === 500 && num_deleted_rows === 0;
    },
    slow,
  );
});

/** Removes a table's first version like a foreign tool that does not know of multipart writes. */
async function removeFirst(client: Client, table: string): Promise<void> {
  const { versions } = await client.ok(`/v1/table/${table}/version/list`, {}, { limit: "1000" });
  const first = versions.find(({ version }: { version: number }) => version === 1);
  rmSync(join(joust.root, `${table}.lance`, "_versions", basename(first.manifest_path)));
}

test("a multipart write whose base version was removed ends and requires its rows again", async () => {
  const { client } = joust;
  await client.createTable("slow", items(10));
  const upload = "/v1/table/slow/multipart_write";
  const { upload_id } = await client.ok(`${upload}/create`);
  await client.ok("/v1/table/slow/insert/", items(5, { from: 100 }), { upload_id });
  await insertMany(client, "slow", 3);
  await removeFirst(client, "slow");
  const late = await client.post("/v1/table/slow/insert/", items(1), { upload_id });
  expectFailure(late, 400, 19, /send them again/);
  const complete = () => client.post(`${upload}/complete`, undefined, { upload_id });
  expectFailure(await complete(), 400, 19, /send them again/);
  expectFailure(await complete(), 400, 13, /begin a new one/);
  expect(await client.count("slow")).toBe(10 + 3 * 20);
});

test("the base version of a running insert is not cleaned up, and if it is removed the insert fails as a whole", async () => {
  const { client } = joust;
  const rows = (count: number) => tableOf({ id: [type.i64, Array(count).fill(1n)] });
  // The first batch exceeds the server's memory buffer: it is in files while the rest arrives.
  const body = stream(rows(1_000_000).concat(rows(100_000)));
  const most = body.length - 1_000;
  await client.createTable("outlasted", stream(rows(10)));
  let resume = () => {};
  const cleaned = new Promise<void>((resolve) => {
    resume = resolve;
  });
  const sent = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(body.subarray(0, most));
      await cleaned;
      controller.enqueue(body.subarray(most));
      controller.close();
    },
  });
  const insert = fetch(`${client.url}/v1/table/outlasted/insert/`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${client.key}`,
      "content-type": "application/vnd.apache.arrow.stream",
    },
    body: sent,
    duplex: "half",
  } as RequestInit);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  for (const _ of [1, 2, 3]) await client.insert("outlasted", stream(rows(20)));
  await waitFor(
    "old versions are cleaned up",
    async () => {
      const { jobs } = await client.ok("/v1/jobs/list", {});
      return jobs.some(
        (job: Json) =>
          job.table === "outlasted" && job.job_type === "clean_up" && job.state === "DONE",
      );
    },
    slow,
  );
  expect((await versionsOf(client, "outlasted")).sort()).toEqual([1, 2, 3, 4]);
  await removeFirst(client, "outlasted");
  resume();
  const reply = await insert;
  expect([reply.status, ((await reply.json()) as Json).code]).toEqual([400, 19]);
  expect(await client.count("outlasted")).toBe(10 + 3 * 20);
});
