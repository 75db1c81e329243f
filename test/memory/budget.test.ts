import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { items } from "../harness/arrow.js";
import { type Server, startServer } from "../harness/server.js";
import { createRequest, sendRaw } from "../harness/socket.js";
import { waitFor } from "../harness/wait-for.js";
import { BigStream, texts, upload } from "../http/streams/big-stream.js";
import { cpuShare, memoryGrowth } from "../http/streams/process-usage.js";

const MiB = 1024 * 1024;
const BUDGET = 384;
/** The memory of the idle program is not measured: see Budget in the engine. */
const ALLOWED = (BUDGET - 192 + 128) * MiB;

interface Memory {
  budget: number;
  work: number;
  uploads: number;
  queries: number;
  changes: number;
  jobs: number;
  waiting: number;
  refused: number;
}

/** Reads a response in parts until it ends or breaks. */
async function takesItsTime(answer: Response): Promise<void> {
  const reader = answer.body?.getReader();
  try {
    while (reader && !(await reader.read()).done) await sleep(100);
  } catch {
    // The test has aborted the request.
  }
}

describe.skipIf(process.platform !== "linux")(
  `a server with a memory budget of ${BUDGET} MiB`,
  () => {
    let server: Server;

    /** Values of `/metrics`. */
    const memory = async (): Promise<Memory> => {
      const { text } = await server.client.get("/metrics");
      const value = (name: string) => {
        const line = text.split("\n").find((line) => line.startsWith(`joust_memory_${name} `));
        return Number(line?.split(" ")[1]);
      };
      const taken = (by: string) => value(`taken_bytes{by="${by}"}`);
      return {
        budget: value('share_bytes{of="budget"}'),
        work: value('share_bytes{of="work"}'),
        uploads: taken("uploads"),
        queries: taken("queries"),
        changes: taken("changes"),
        jobs: taken("jobs"),
        waiting: value("waiting"),
        refused: value("refused_total"),
      };
    };
    const shown = (bytes: number) => `${Math.round(bytes / MiB)} MiB`;

    /** Ended requests hold no memory. */
    const allIsGivenBack = () =>
      waitFor("all memory is given back", async () => {
        const { uploads, queries, changes, jobs, waiting } = await memory();
        return uploads + queries + changes + jobs + waiting === 0;
      });

    beforeAll(async () => {
      server = await startServer({ args: ["--memory", `${BUDGET}MiB`, "--maintenance", "off"] });
      await server.client.createTable("small", items(1000));
      await server.client.query("small", { vector: { single_vector: [] } });
    });
    afterAll(() => server?.stop());

    it("reports its budget and the memory it holds", async () => {
      const { budget, work } = await memory();
      expect(budget).toBe(BUDGET * MiB);
      expect(work).toBeGreaterThan(32 * MiB);
      expect(work).toBeLessThan(BUDGET * MiB);
      await allIsGivenBack();
    });

    it("accepts or rejects each of many large uploads and holds only a few at a time", async () => {
      const big = new BigStream(64 * MiB);
      await server.client.createTable(
        "uploads",
        new Uint8Array(Buffer.concat([...new BigStream(1).chunks()])),
      );
      const rowsBefore = await server.client.count("uploads");
      const statuses: number[] = [];
      const growth = await memoryGrowth(server, async () => {
        const sending = Array.from({ length: 24 }, async () => {
          const { status, body } = await upload(server, "/v1/table/uploads/insert", big.chunks());
          statuses.push(status);
          if (status === 429) expect(JSON.parse(body)).toMatchObject({ code: 21 });
          else expect(body).toContain("num_inserted_rows");
        });
        await Promise.all(sending);
      });
      const taken = statuses.filter((status) => status === 200).length;
      console.log(`24 uploads of 64 MiB: ${taken} taken, memory grew by ${shown(growth)}`);
      expect(new Set([...statuses, 200, 429])).toEqual(new Set([200, 429]));
      expect(taken).toBeGreaterThan(0);
      expect(await server.client.count("uploads")).toBe(rowsBefore + taken * big.rows);
      expect(growth).toBeLessThan(ALLOWED);
      await allIsGivenBack();
    }, 300_000);

    it("holds no memory for rejected uploads", async () => {
      // One packet, so that the whole body arrives before the catalog rejects the name.
      const request = createRequest("small", server.client.key, items(300), "chunked");
      for (let i = 0; i < 20; i++) {
        expect(await sendRaw(server.url, [request])).toMatchObject({ status: 409 });
      }
      expect((await memory()).uploads).toBe(0);
    });

    it("answers or rejects each of many large queries whose clients do not read", async () => {
      const leaving = new AbortController();
      const statuses: number[] = [];
      const growth = await memoryGrowth(server, async () => {
        const asking = Array.from({ length: 64 }, async () => {
          const answer = await server.client.open("/v1/table/uploads/query", {
            body: { vector: { single_vector: [] }, k: 1_000_000 },
            signal: leaving.signal,
          });
          statuses.push(answer.status);
          if (answer.status === 429) expect(answer.headers.get("retry-after")).toBe("1");
        });
        await Promise.all(asking);
        await sleep(1_000);
      });
      const refused = statuses.filter((status) => status === 429).length;
      console.log(`64 queries: ${refused} refused, memory grew by ${shown(growth)}`);
      expect(new Set([...statuses, 200, 429])).toEqual(new Set([200, 429]));
      expect(refused).toBeGreaterThan(0);
      expect((await memory()).refused).toBeGreaterThanOrEqual(refused);
      expect(growth).toBeLessThan(ALLOWED);
      leaving.abort();
      await allIsGivenBack();
      expect((await server.client.query("small", { vector: { single_vector: [] } })).numRows).toBe(
        10,
      );
    }, 120_000);

    it("sorts more data than its budget", async () => {
      // Sorting these in memory would exceed the whole budget.
      await upload(server, "/v1/table/sorted/create", new BigStream(512 * MiB).chunks());
      const rows = await server.client.count("sorted");
      let received = 0;
      const growth = await memoryGrowth(server, async () => {
        const answer = await server.client.open("/v1/table/sorted/query", {
          body: {
            vector: { single_vector: [] },
            k: rows,
            order_by: [{ column_name: "id", ascending: false }],
          },
        });
        expect(answer.status).toBe(200);
        for await (const chunk of answer.body as AsyncIterable<Uint8Array>)
          received += chunk.length;
      });
      console.log(`a sort of 512 MiB: memory grew by ${shown(growth)}`);
      expect(received).toBeGreaterThan(512 * MiB);
      // The allocator keeps some freed memory.
      expect(growth).toBeLessThan(480 * MiB);
      const best = await server.client.query("sorted", {
        vector: { single_vector: [] },
        k: 100_000,
        columns: { column_names: ["id"] },
        order_by: [{ column_name: "id", ascending: true }],
      });
      const ids = best.getChild("id");
      for (let row = 1; row < best.numRows; row++) {
        if (ids?.get(row) < ids?.get(row - 1)) throw new Error(`row ${row} is out of order`);
      }
      expect(best.numRows).toBe(Math.min(rows, 100_000));
      await allIsGivenBack();
    }, 180_000);

    it("does not load a column into memory that does not fit", async () => {
      const big = new BigStream(512 * MiB, texts());
      await upload(server, "/v1/table/texts/create", big.chunks());
      const growth = await memoryGrowth(server, async () => {
        // A column that fits would be cached after this many queries.
        for (let time = 0; time < 24; time++) {
          const result = await server.client.query("texts", {
            vector: { single_vector: [] },
            filter: `id < ${20 + (time % 3)}`,
          });
          expect(result.getChild("text")?.get(9)).toHaveLength(64 * 1024);
        }
        // A column is loaded in the background.
        await waitFor("the server rests", async () => (await cpuShare(server, 500)) < 0.1);
      });
      console.log(`a column of 512 MiB: memory grew by ${shown(growth)}`);
      expect(growth).toBeLessThan(ALLOWED);
    }, 180_000);

    /** Starts large queries whose responses hold memory until they are read or aborted. */
    const openQueries = (count: number, signal: AbortSignal): Promise<Response>[] =>
      Array.from({ length: count }, () =>
        server.client.open("/v1/table/uploads/query", {
          body: { vector: { single_vector: [] }, k: 1_000_000 },
          signal,
        }),
      );

    it("delays an index build until memory is free", async () => {
      const leaving = new AbortController();
      const held = openQueries(64, leaving.signal);
      await Promise.all(held);
      const index = { column: "id", index_type: "BTREE", name: "by_id" };
      await server.client.ok("/v1/table/small/create_scalar_index", index);
      await waitFor("the build waits", async () => {
        const { jobs } = await server.client.ok("/v1/jobs/list", {});
        const described = jobs.map(({ job_id }: { job_id: string }) =>
          server.client.ok("/v1/jobs/describe", { job_id }),
        );
        return JSON.stringify(await Promise.all(described)).includes("wait for memory");
      });
      await sleep(500);
      expect((await memory()).jobs).toBe(0);
      leaving.abort();
      await waitFor("the index is there", async () => {
        const { indexes } = (await server.client.post("/v1/table/small/index/list")).json;
        return indexes.length === 1;
      });
      await allIsGivenBack();
    }, 120_000);

    it("rejects waiting changes of one table at the same time instead of one after another", async () => {
      const leaving = new AbortController();
      const held = openQueries(16, leaving.signal);
      // Fast enough that the server does not cut them off as slow.
      for (const answer of await Promise.all(held)) void takesItsTime(answer);
      const change = (n: number) =>
        server.client.post("/v1/table/uploads/update", {
          predicate: `id = ${n}`,
          updates: [["id", "id + 0"]],
        });
      const changes = Promise.all([1, 2, 3].map(change));
      await waitFor("all wait", async () => (await memory()).waiting === 3);
      for (const refused of await changes) {
        expect([refused.status, refused.json.code]).toEqual([429, 21]);
      }
      leaving.abort();
      await allIsGivenBack();
      expect((await change(1)).status).toBe(200);
      await allIsGivenBack();
    }, 120_000);

    it("rejects a record batch that is larger than the whole budget", async () => {
      const chunks = [...new BigStream(1).chunks()];
      const [schema, batch] = chunks as [Uint8Array, Uint8Array];
      const claims = Buffer.from(batch);
      // The body length is the last number in the message header that is slightly above 8 MiB.
      const header = claims.readInt32LE(4);
      const body = BigInt(batch.length - 8 - header);
      const at = claims.subarray(0, 8 + header).indexOf(bytesOf(body));
      expect(at).toBeGreaterThan(0);
      claims.set(bytesOf(1_000_000_000n), at);
      const reply = await upload(server, "/v1/table/uploads/insert", [schema, claims]);
      expect(reply.status).toBe(400);
      expect(reply.body).toMatch(
        /a record batch of 1000000000 bytes is too large; send batches of at most \d+ bytes/,
      );
      await allIsGivenBack();
    });
  },
);

function bytesOf(number: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(number);
  return bytes;
}
