import { readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { items, stream, type } from "../harness/arrow.js";
import type { Json } from "../harness/client.js";
import { slowExpression, waitForJob, waitForJobResult } from "../harness/jobs.js";
import { newKey, type Server } from "../harness/server.js";
import { startServerForTest } from "../harness/setup-server.js";
import { removeDir, tempDir } from "../harness/temp.js";
import { waitFor } from "../harness/wait-for.js";

/** Enough rows for a job of a second or more. */
const ROWS = 50_000;
const key = newKey();
let root: string;

beforeEach(() => {
  root = tempDir("crash");
  onTestFinished(() => removeDir(root));
});

const serve = (): Promise<Server> => startServerForTest({ root, key });

const state = async (server: Server, job_id: string): Promise<string> =>
  (await server.client.ok("/v1/jobs/describe", { job_id })).job_state;

const running = (server: Server, id: string) =>
  waitFor("the job runs", async () => (await state(server, id)) === "IN_PROGRESS");

/** Rows with an id and a name. */
function named(from: number, to: number): Uint8Array {
  const ids = Array.from({ length: to - from }, (_, row) => from + row);
  return stream({
    id: [type.i64, ids.map(BigInt)],
    name: [type.text, ids.map((id) => `item ${id}`)],
  });
}

/** The request and the expected result of each kind of job. */
interface Kind {
  prepare(server: Server): Promise<void>;
  /** The job's id. */
  start(server: Server): Promise<string>;
  check(server: Server, result: Json): Promise<void>;
  /** No result is visible. */
  untouched(server: Server): Promise<void>;
}

const kinds: Record<string, Kind> = {
  backfill: {
    async prepare({ client }) {
      await client.createTable("t", named(0, ROWS / 2));
      await client.insert("t", named(ROWS / 2, ROWS));
      const computed = slowExpression("name");
      await client.ok("/v1/table/t/add_columns", { new_columns: [{ name: "c", computed }] });
    },
    async start({ client }) {
      return (await client.ok("/v1/table/t/backfill_column", { column: "c" })).job_id;
    },
    async check({ client }, result) {
      expect(result).toMatchObject({ rows_assigned: ROWS, rows_remaining: 0 });
      expect(await client.count("t", { predicate: "c is null" })).toBe(0);
      const predicate = `c = ${slowExpression("name")} and id = 15000`;
      expect(await client.count("t", { predicate })).toBe(1);
    },
    async untouched({ client }) {
      expect(await client.count("t", { predicate: "c is null" })).toBe(ROWS);
    },
  },
  refresh: {
    async prepare({ client }) {
      await client.createTable("t", named(0, ROWS));
      await client.ok("/v1/materialized_view/v/create", {
        query: `SELECT id, ${slowExpression("name")} AS c FROM t`,
        with_no_data: true,
      });
    },
    async start({ client }) {
      return (await client.ok("/v1/materialized_view/v/refresh", {})).job_id;
    },
    async check({ client }, result) {
      expect(result).toMatchObject({ rows_written: ROWS });
      expect(await client.count("v")).toBe(ROWS);
      expect(await client.count("v", { predicate: "id = 15000 and c is not null" })).toBe(1);
    },
    async untouched({ client }) {
      expect(await client.count("v")).toBe(0);
    },
  },
  compaction: {
    async prepare({ client }) {
      await client.createTable("t", items(2_000, { dimension: 512 }));
      for (let from = 2_000; from < 20_000; from += 2_000) {
        await client.insert("t", items(2_000, { from, dimension: 512 }));
      }
    },
    async start({ client }) {
      return (await client.ok("/v1/table/t/compact", {})).job_id;
    },
    async check({ client }) {
      expect(await client.count("t")).toBe(20_000);
      const { fragment_stats } = await client.ok("/v1/table/t/stats");
      expect(fragment_stats.num_fragments).toBe(1);
      expect(await client.count("t", { predicate: "id = 15000" })).toBe(1);
    },
    async untouched({ client }) {
      expect(await client.count("t")).toBe(20_000);
    },
  },
};

describe.each(Object.entries(kinds))("a running %s", (_, kind) => {
  it("completes after the server is killed and restarted", async () => {
    const first = await serve();
    await kind.prepare(first);
    const id = await kind.start(first);
    await running(first, id);
    await first.kill();
    const second = await serve();
    await kind.check(second, await waitForJobResult(second.client, id));
    expect((await second.client.ok(`/v1/transaction/${id}/describe`)).status).toBe("Succeeded");
  }, 120_000);

  it("does not delay a stop and completes after the restart", async () => {
    const first = await serve();
    await kind.prepare(first);
    const id = await kind.start(first);
    await running(first, id);
    expect(await first.stop()).toBe(0);
    const second = await serve();
    await kind.check(second, await waitForJobResult(second.client, id));
  }, 120_000);

  it("can be paused and resumed", async () => {
    const server = await serve();
    await kind.prepare(server);
    const id = await kind.start(server);
    await running(server, id);
    const { paused } = await server.client.ok("/v1/jobs/pause", { job_id: id });
    if (paused) {
      expect(await state(server, id)).toBe("PAUSED");
      await kind.untouched(server);
      await server.client.ok("/v1/jobs/resume", { job_id: id });
    }
    await kind.check(server, await waitForJobResult(server.client, id));
  }, 120_000);
});

describe("a cancelled job", () => {
  it.each(["backfill", "refresh"])(
    "leaves no result of a %s",
    async (name) => {
      const kind = kinds[name] as Kind;
      const server = await serve();
      await kind.prepare(server);
      const id = await kind.start(server);
      await running(server, id);
      await server.client.ok("/v1/jobs/cancel", { job_id: id });
      expect((await waitForJob(server.client, id)).job_state).toBe("CANCELLED");
      expect((await server.client.ok(`/v1/transaction/${id}/describe`)).status).toBe("Canceled");
      await kind.untouched(server);
      // The next job of this kind is a new job.
      const next = await kind.start(server);
      expect(next).not.toBe(id);
      await kind.check(server, await waitForJobResult(server.client, next));
    },
    120_000,
  );

  it("ends if it is cancelled through its transaction", async () => {
    const kind = kinds.backfill as Kind;
    const server = await serve();
    await kind.prepare(server);
    const id = await kind.start(server);
    await running(server, id);
    await server.client.ok(`/v1/transaction/${id}/alter`, {
      actions: [{ setStatusAction: { status: "Canceled" } }],
    });
    expect((await waitForJob(server.client, id)).job_state).toBe("CANCELLED");
    await kind.untouched(server);
  }, 120_000);

  it("leaves no files if its table is dropped", async () => {
    const kind = kinds.backfill as Kind;
    const server = await serve();
    await kind.prepare(server);
    await running(server, await kind.start(server));
    await server.client.ok("/v1/table/t/drop", {});
    await waitFor("the files are removed", () => !readdirSync(root).includes("t.lance"));
    expect(readdirSync(join(root))).not.toContain("t.lance");
  }, 120_000);
});

it("a running backfill reports its progress", async () => {
  const kind = kinds.backfill as Kind;
  const server = await serve();
  await kind.prepare(server);
  const id = await kind.start(server);
  const progress = await waitFor("there is progress", async () => {
    const job = await server.client.ok("/v1/jobs/describe", { job_id: id });
    return job.progress?.completed > 0 && job.progress;
  });
  expect(progress).toMatchObject({ stage: "backfill", total: ROWS });
  await waitForJobResult(server.client, id);
}, 60_000);
