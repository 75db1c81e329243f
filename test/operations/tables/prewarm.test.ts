import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { Client } from "../../harness/client.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { buildEachKind } from "../../harness/indexes.js";
import { type Server, startServer } from "../../harness/server.js";
import { removeDir, tempDir } from "../../harness/temp.js";
import { waitFor } from "../../harness/wait-for.js";
import { waitForOutput } from "../../harness/wait-for-output.js";

const indexes = ["category_idx", "id_idx", "name_idx", "vector_idx"];
const columns = ["id", "name", "category", "price", "vector"];

let root: string;
let key: string;

beforeAll(async () => {
  root = tempDir("root");
  const server = await startServer({ root });
  key = server.key;
  const { client } = server;
  await client.ok("/v1/namespace/ns/create", {});
  for (const id of ["t", "ns$t"]) {
    await client.createTable(id, items(2_000, { dimension: 32 }));
    await buildEachKind(client, id);
  }
  await server.stop();
});

afterAll(() => removeDir(root));

async function withServer(args: string[], work: (server: Server) => Promise<void>): Promise<void> {
  const server = await startServer({ root, key, args });
  try {
    await work(server);
  } finally {
    await server.stop();
  }
}

const ready = (server: Server) =>
  waitFor("the server is ready", async () => (await server.client.get("/readyz")).status === 200);

/** Bytes that the process has read with system calls, mostly from files. */
const bytesRead = ({ pid }: Server): number =>
  Number(/^rchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1]);

const vector = Array.from({ length: 32 }, (_, place) => place / 32);
const queries = {
  vector: { vector: { single_vector: vector }, k: 5 },
  "vector, measured": { vector: { single_vector: vector }, k: 5, refine_factor: 10 },
  "vector, all compared": { vector: { single_vector: vector }, k: 5, bypass_vector_index: true },
  text: { full_text_query: { string_query: { query: "item" } }, k: 5 },
  "by value": { vector: { single_vector: [] }, k: 5, filter: "id IN (3, 1999)" },
};

describe.runIf(process.platform === "linux")("a table named by --prewarm", () => {
  // Again after a failure: a background task may read a page of the catalog during the query.
  it.each(Object.entries(queries))(
    "needs almost no reads from disk later: %s",
    { retry: 2 },
    async (_, query) => {
      const read: Record<string, number> = {};
      for (const [name, args] of Object.entries({ cold: [], warm: ["--prewarm", "t"] })) {
        await withServer(args, async (server) => {
          await ready(server);
          // Reads of the first response are not counted.
          await server.client.ok("/v1/table/t/describe");
          const before = bytesRead(server);
          await server.client.query("t", query);
          read[name] = bytesRead(server) - before;
        });
      }
      // Wake-ups of threads count 8 bytes each.
      expect(read.warm).toBeLessThan(2_048);
      expect(read.cold).toBeGreaterThan(8 * 1_024);
    },
  );

  it("is logged, and the server then becomes ready", async () => {
    await withServer(["--prewarm", "t", "--prewarm=ns$t"], async (server) => {
      await ready(server);
      expect((await server.client.get("/readyz")).json).toEqual({ status: "ok" });
      const lines = server
        .output()
        .split("\n")
        .filter((line) => line.includes("prewarmed a table"));
      const reported = lines.map((line) => JSON.parse(line));
      expect(reported.map(({ table }) => table)).toEqual(["t", "ns$t"]);
      for (const one of reported) expect(one).toMatchObject({ indexes, columns });
    });
  });

  it("is queried by the server itself without admitting other callers", async () => {
    const args = ["--prewarm", "t", "--log-level", "debug"];
    await withServer(args, async (server) => {
      await ready(server);
      const lines = server
        .output()
        .split("\n")
        .filter((line) => line.includes('"QueryTable"'));
      const asked = lines.map((line) => JSON.parse(line));
      expect(asked.length).toBeGreaterThan(0);
      expect(asked.map(({ status }) => status)).toEqual(asked.map(() => 200));
      const anonymous = new Client(server.url, "prewarming");
      expect((await anonymous.get("/v1/table")).status).toBe(401);
    });
  });

  it("may be missing without stopping the start", async () => {
    await withServer(["--prewarm", "none", "--prewarm", "t"], async (server) => {
      await ready(server);
      await waitForOutput(server, /"table":"none","msg":"a table could not be prewarmed"/);
      await waitForOutput(server, /"table":"t",.*"msg":"prewarmed a table"/);
    });
  });
});

describe("a prewarm request for a table", () => {
  it("returns the loaded indexes and columns at its end", async () => {
    await withServer([], async ({ client }) => {
      const answer = await client.post("/v1/table/t/prewarm");
      expect([answer.status, answer.json.indexes, answer.json.columns]).toEqual([
        200,
        indexes,
        columns,
      ]);
      expect(answer.headers.get("x-lancedb-version")).toBe(String(answer.json.version));
      await client.ok("/v1/table/t/branches/create", { name: "dev" });
      const branch = await client.ok("/v1/table/t/prewarm", { branch: "dev" });
      expect(branch.columns).toEqual(columns);
      const both = await Promise.all([1, 2, 3].map(() => client.ok("/v1/table/ns$t/prewarm")));
      for (const one of both) expect(one.indexes).toEqual(indexes);
    });
  });

  it("fails for missing tables, indexes and columns", async () => {
    await withServer([], async ({ client }) => {
      expectFailure(await client.post("/v1/table/none/prewarm"), 404, 4);
      expectFailure(await client.post("/v1/table/t/prewarm", { branch: "none" }), 404, 22);
      expectFailure(await client.post("/v1/table/t/prewarm", { branch: 1 }), 400, 13, /branch/);
    });
  });
});
