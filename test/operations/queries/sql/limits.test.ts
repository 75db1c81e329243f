import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../../harness/arrow.js";
import { ARROW_STREAM } from "../../../harness/client.js";
import { expectFailure } from "../../../harness/expect-failure.js";
import { setupServer, type TestServer } from "../../../harness/setup-server.js";
import { waitFor } from "../../../harness/wait-for.js";
import { sqlClient } from "./sql-client.js";

const MIB = 2 ** 20;
const short = setupServer({ args: ["--query-timeout", "500ms"] });
const small = setupServer({ args: ["--memory", "768MiB", "--view-disk", "1MiB"] });

beforeAll(async () => {
  for (const { client } of [short, small]) {
    await client.createTable("t", items(20_000, { dimension: 2 }));
  }
  await small.client.createTable("few", items(40, { dimension: 2 }));
});

const takenByQueries = async ({ client }: TestServer): Promise<number> => {
  const { text } = await client.get("/metrics");
  return Number(/^joust_memory_taken_bytes\{by="queries"\} (\d+)/m.exec(text)?.[1]);
};
const memoryIsGivenBack = (joust: TestServer) =>
  waitFor("the memory is given back", async () => (await takenByQueries(joust)) === 0);

/** Statements that run for minutes. */
const endless = [
  "SELECT count(*) AS n FROM t a CROSS JOIN t b CROSS JOIN t c WHERE a.price + b.price < c.price",
  "SELECT a.id FROM t a, t b, t c WHERE a.id + b.id + c.id = -1",
  "SELECT count(*) AS n FROM vector_search('t', 'vector', [1, 1], 10000) a CROSS JOIN t b CROSS JOIN t c WHERE a.price + b.price < c.price",
  "SELECT sum(x.n) FROM (SELECT row_number() OVER (ORDER BY a.price * b.price) AS n FROM t a, t b) x",
];

describe("a statement over the time limit", () => {
  it.each(endless)(
    "is ended in time: %s",
    async (query) => {
      const began = performance.now();
      expectFailure(
        await sqlClient(short).send({ query }),
        400,
        13,
        /after 500ms of work|temporary files/,
      );
      expect(performance.now() - began).toBeLessThan(8_000);
      await memoryIsGivenBack(short);
    },
    20_000,
  );
});

describe("a disconnecting client", () => {
  it("ends its running statement", async () => {
    const abort = new AbortController();
    const aborted = small.client.request("/v1/sql", {
      body: { query: endless[0] },
      signal: abort.signal,
    });
    await Promise.all([
      expect(aborted).rejects.toThrow(/abort/),
      waitFor("the statement runs", async () => (await takenByQueries(small)) > 0).then(() =>
        abort.abort(),
      ),
    ]);
    await memoryIsGivenBack(small);
  });

  it("ends the rest of its response", async () => {
    const abort = new AbortController();
    const answer = await small.client.open("/v1/sql", {
      body: { query: "SELECT t.*, repeat('x', 1000) AS x FROM t CROSS JOIN few" },
      signal: abort.signal,
    });
    expect(answer.status).toBe(200);
    expect(await takenByQueries(small)).toBeGreaterThan(0);
    abort.abort();
    await memoryIsGivenBack(small);
  });
});

describe("a large result", () => {
  it("is streamed in bounded memory as fast as the client reads", async () => {
    const { client, server } = small;
    const before = server.rss();
    const answer = await client.open("/v1/sql", {
      body: { query: "SELECT t.id, repeat('x', 1000) AS x FROM t CROSS JOIN few" },
      headers: { accept: ARROW_STREAM },
    });
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    let bytes = 0;
    let most = 0;
    let next = 200 * MIB;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      bytes += value.length;
      if (bytes < next) continue;
      next += 200 * MIB;
      // The client pauses.
      await sleep(500);
      most = Math.max(most, server.rss());
    }
    expect(bytes).toBeGreaterThan(800_000 * 1_000);
    expect(most - before).toBeLessThan(300 * MIB);
    await memoryIsGivenBack(small);
  }, 120_000);
});

describe("temporary files", () => {
  it("are limited by --view-disk", async () => {
    const query = "SELECT a.id, b.name FROM t a, few b ORDER BY b.name, a.name, a.vector[1]";
    expectFailure(
      await sqlClient(small).send({ query }, ARROW_STREAM),
      400,
      13,
      /more memory, or more temporary files/,
    );
    await memoryIsGivenBack(small);
  }, 60_000);
});
