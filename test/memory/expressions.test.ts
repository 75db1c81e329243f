import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { random, stream, type } from "../harness/arrow.js";
import { type Server, startServer } from "../harness/server.js";
import { memoryGrowth } from "../http/streams/process-usage.js";

const MiB = 1024 * 1024;
const BUDGET = 384;
/** The memory of the idle program is not measured: see Budget in the engine. */
const ALLOWED = (BUDGET - 192 + 128) * MiB;

const ROWS = 4_000;
const LENGTH = 8_000;

/** Incompressible texts with the numbers of their rows. */
function texts(from: number, rows: number): Uint8Array {
  const next = random(11 + from);
  const alphabet = Array.from({ length: 90 }, (_, at) => String.fromCharCode(33 + at));
  const text = () => {
    let made = "";
    while (made.length < LENGTH) made += alphabet[Math.floor(next() * alphabet.length)];
    return made;
  };
  const ids = Array.from({ length: rows }, (_, row) => BigInt(from + row));
  return stream({ id: [type.i64, ids], s: [type.text, ids.map(text)] });
}

describe.skipIf(process.platform !== "linux")("an expression with long text results", () => {
  let server: Server;

  beforeAll(async () => {
    server = await startServer({ args: ["--memory", `${BUDGET}MiB`, "--maintenance", "off"] });
    await server.client.createTable("t", texts(0, ROWS / 2));
    await server.client.insert("t", texts(ROWS / 2, ROWS / 2));
    expect(await server.client.count("t", { predicate: "length(s) > 1" })).toBe(ROWS);
  });
  afterAll(() => server?.stop());

  // A batch of all rows would be 1.9 GB of texts.
  const long = `length(repeat(s, 60)) = ${60 * LENGTH}`;

  it.each([
    ["a count", () => server.client.count("t", { predicate: long })],
    [
      "a query",
      async () => {
        const result = await server.client.query("t", { vector: {}, k: ROWS, filter: long });
        return result.numRows;
      },
    ],
    [
      "a column of a query",
      async () => {
        const columns = { column_aliases: { n: "length(repeat(s, 60))" } };
        const result = await server.client.query("t", { vector: {}, k: ROWS, columns });
        return result.numRows;
      },
    ],
  ] as const)("is evaluated on few rows at once in %s", async (_, send) => {
    let rows = 0;
    const growth = await memoryGrowth(server, async () => {
      rows = await send();
    });
    expect(rows).toBe(ROWS);
    expect(growth).toBeLessThan(ALLOWED);
  });

  it("is rejected in an update, which evaluates many rows at once", async () => {
    const update = (value: string) =>
      server.client.post("/v1/table/t/update", { updates: [["s", value]] });
    const growth = await memoryGrowth(server, async () => {
      const refused = await update("repeat(s, 60)");
      expect(refused.status).toBe(400);
      expect(refused.json.detail ?? refused.text).toMatch(/values of \d+ MiB in all of 4000 rows/);
      const matched = await server.client.post("/v1/table/t/delete", { predicate: long });
      expect(matched.status).toBe(400);
    });
    expect(growth).toBeLessThan(ALLOWED);
    const shorter = await update("left(s, 100)");
    expect([shorter.status, shorter.text]).toEqual([200, shorter.text]);
    expect(await server.client.count("t", { predicate: "length(s) = 100" })).toBe(ROWS);
  });
});
