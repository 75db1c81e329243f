import { beforeAll, describe, expect, it } from "vitest";
import { items } from "../../harness/arrow.js";
import { expectFailure } from "../../harness/expect-failure.js";
import { setupServer } from "../../harness/setup-server.js";
import { waitFor } from "../../harness/wait-for.js";
import { statementClient } from "./statement-client.js";

const joust = setupServer({ args: ["--query-timeout", "3s"] });
const { send, rows, define } = statementClient(joust);

beforeAll(async () => {
  await joust.client.createTable("t", items(5_000, { dimension: 2 }));
  await define("CREATE TABLE u (id BIGINT)");
});

const takenMemory = async (by: string): Promise<number> => {
  const { text } = await joust.client.get("/metrics");
  return Number(
    new RegExp(`^joust_memory_taken_bytes\\{by="${by}"\\} (\\d+)`, "m").exec(text)?.[1],
  );
};
const isIdle = () =>
  waitFor(
    "the memory is given back",
    async () => (await takenMemory("queries")) + (await takenMemory("uploads")) === 0,
  );

/** Inserts 125 billion rows. */
const endless = "INSERT INTO u SELECT a.id FROM t a, t b, t c";
/** The same without a row. */
const silent = "INSERT INTO u SELECT a.id FROM t a, t b, t c WHERE a.id + b.id + c.id = -1";
/** The same from a search. */
const searched =
  "INSERT INTO u SELECT a.id FROM vector_search('t', 'vector', [0, 0], 5000) a, (SELECT b.id + c.id AS id FROM t b, t c) d WHERE a.id + d.id = -1";

describe("an INSERT that ends early writes nothing", () => {
  it.each([endless, silent, searched])("if its client disconnects: %s", async (query) => {
    const abort = new AbortController();
    const aborted = joust.client.request("/v1/sql", { body: { query }, signal: abort.signal });
    await Promise.all([
      expect(aborted).rejects.toThrow(/abort/),
      waitFor("it runs", async () => (await takenMemory("queries")) > 0).then(() => abort.abort()),
    ]);
    await isIdle();
    expect(await rows("SELECT count(*) AS n FROM u")).toEqual([{ n: 0 }]);
  });

  it.each([silent, searched])("if the query exceeds its time: %s", async (query) => {
    expectFailure(await send(query), 400, 13, /after 3s of work/);
    await isIdle();
    expect(await rows("SELECT count(*) AS n FROM u")).toEqual([{ n: 0 }]);
  });

  it("if its table is dropped", async () => {
    await define("CREATE TABLE dropped (id BIGINT)");
    const inserted = send(endless.replace("INTO u", "INTO dropped"));
    await waitFor("it runs", async () => (await takenMemory("queries")) > 0);
    await define("DROP TABLE dropped");
    expect((await inserted).status).toBeGreaterThanOrEqual(400);
    await isIdle();
    expectFailure(await send("SELECT * FROM dropped"), 404, 4);
  });
});
