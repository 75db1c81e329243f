import { describe, expect, it } from "vitest";
import { items, stream, type } from "../../../harness/arrow.js";
import { expectFailure } from "../../../harness/expect-failure.js";
import { setupServer } from "../../../harness/setup-server.js";
import { sqlClient } from "./sql-client.js";

const joust = setupServer();
const { sendOk, arrow, send, rows } = sqlClient(joust);

/** An SQL expression, its JSON value and its CSV text. */
const values: [string, unknown, string][] = [
  ["NULL", null, ""],
  ["true", true, "true"],
  ["CAST(-5 AS TINYINT)", -5, "-5"],
  ["CAST(4294967295 AS INT UNSIGNED)", 4294967295, "4294967295"],
  ["9007199254740991", 9007199254740991, "9007199254740991"],
  ["9007199254740992", "9007199254740992", "9007199254740992"],
  ["-9007199254740991", -9007199254740991, "-9007199254740991"],
  ["-9007199254740993", "-9007199254740993", "-9007199254740993"],
  ["arrow_cast('18446744073709551615', 'UInt64')", "18446744073709551615", "18446744073709551615"],
  ["1.5", 1.5, "1.5"],
  ["CAST(0.1 AS FLOAT)", 0.1, "0.1"],
  ["arrow_cast(0.5, 'Float16')", 0.5, "0.5"],
  ["1e300", 1e300, "1e300"],
  ["CAST('NaN' AS DOUBLE)", "NaN", "NaN"],
  ["CAST('inf' AS DOUBLE)", "Infinity", "Infinity"],
  ["CAST('-inf' AS DOUBLE)", "-Infinity", "-Infinity"],
  ["CAST(1.25 AS DECIMAL(10, 2))", "1.25", "1.25"],
  [
    "arrow_cast('12345678901234567890.5', 'Decimal256(40, 1)')",
    "12345678901234567890.5",
    "12345678901234567890.5",
  ],
  ["DATE '2024-02-29'", "2024-02-29", "2024-02-29"],
  ["arrow_cast(DATE '2024-02-29', 'Date64')", "2024-02-29T00:00:00", "2024-02-29T00:00:00"],
  [
    "CAST('2024-02-29 01:02:03.5' AS TIMESTAMP)",
    "2024-02-29T01:02:03.500",
    "2024-02-29T01:02:03.500",
  ],
  [
    "arrow_cast('2024-02-29T01:02:03Z', 'Timestamp(Microsecond, Some(\"+02:00\"))')",
    "2024-02-29T03:02:03+02:00",
    "2024-02-29T03:02:03+02:00",
  ],
  ["arrow_cast('01:02:03.5', 'Time64(Microsecond)')", "01:02:03.500", "01:02:03.500"],
  ["arrow_cast(90, 'Duration(Second)')", "PT90S", "PT90S"],
  ["INTERVAL '1 month 2 days'", "1 mons 2 days", "1 mons 2 days"],
  ["'a\"b\\c\n\té'", 'a"b\\c\n\té', '"a""b\\c\n\té"'],
  ["''", "", '""'],
  ["arrow_cast('x', 'LargeUtf8')", "x", "x"],
  ["arrow_cast('x', 'Utf8View')", "x", "x"],
  ["X'00ff10'", "AP8Q", "AP8Q"],
  ["arrow_cast(X'00', 'LargeBinary')", "AA==", "AA=="],
  ["arrow_cast(X'0000', 'BinaryView')", "AAA=", "AAA="],
  ["arrow_cast(X'0001', 'FixedSizeBinary(2)')", "AAE=", "AAE="],
  ["[1, NULL, 3]", [1, null, 3], '"[1,null,3]"'],
  ["arrow_cast(['a,b'], 'LargeList(Utf8)')", ["a,b"], '"[""a,b""]"'],
  ["arrow_cast([1.5, 2.5], 'FixedSizeList(2, Float32)')", [1.5, 2.5], '"[1.5,2.5]"'],
  ["named_struct('a', 1, 'b', [true])", { a: 1, b: [true] }, '"{""a"":1,""b"":[true]}"'],
  [
    "map(['k', 'l'], [1, NULL])",
    [
      { key: "k", value: 1 },
      { key: "l", value: null },
    ],
    '"[{""key"":""k"",""value"":1},{""key"":""l"",""value"":null}]"',
  ],
  ["arrow_cast('x', 'Dictionary(Int32, Utf8)')", "x", "x"],
  ["arrow_cast(NULL, 'Dictionary(Int32, Utf8)')", null, ""],
];

describe("a value", () => {
  it.each(values)("%s is written as JSON and as CSV", async (sql, json, csv) => {
    expect(await rows(`SELECT ${sql} AS v, 1 AS one`)).toEqual([{ v: json, one: 1 }]);
    const query = `SELECT ${sql} AS v, 1 AS one`;
    expect((await sendOk({ query }, "text/csv")).text).toBe(`v,one\r\n${csv},1\r\n`);
  });

  it("of a column is written like the same literal, in any row", async () => {
    await joust.client.createTable(
      "lists",
      stream({
        id: [type.i64, [1n, 2n, 3n, 4n]],
        texts: [type.texts, [["a"], null, [], ["b", null]]],
        n: [type.i64, [1n, null, 2n ** 60n, -1n]],
      }),
    );
    expect(await rows("SELECT texts, n FROM lists ORDER BY id")).toEqual([
      { texts: ["a"], n: 1 },
      { texts: null, n: null },
      { texts: [], n: String(2n ** 60n) },
      { texts: ["b", null], n: -1 },
    ]);
    // Lists with an offset into their values array.
    expect(await rows("SELECT texts FROM lists ORDER BY id LIMIT 2 OFFSET 2")).toEqual([
      { texts: [] },
      { texts: ["b", null] },
    ]);
  });
});

describe("the JSON result", () => {
  it("contains the column types, also without rows", async () => {
    const { json } = await sendOk({ query: 'SELECT 1 AS a, \'x\' AS "b""c" WHERE false' });
    expect(json).toEqual({
      columns: [
        { name: "a", type: "Int64" },
        { name: 'b"c', type: "Utf8" },
      ],
      rows: [],
    });
    expect((await sendOk({ query: "SELECT 1 AS a WHERE false" }, "text/csv")).text).toBe("a\r\n");
    expect((await sendOk({ query: "SELECT 1 WHERE false" }, "application/x-ndjson")).text).toBe("");
  });

  it("rejects two columns with the same name, which Arrow and CSV allow", async () => {
    const query = "SELECT a.id, b.id FROM lists a JOIN lists b ON a.id = b.id";
    for (const accept of ["application/json", "application/x-ndjson"]) {
      expectFailure(await send({ query }, accept), 400, 13, /two columns `id`.*AS/);
    }
    expect((await arrow(query)).numRows).toBe(4);
    expect((await sendOk({ query }, "text/csv")).text).toMatch(/^id,id\r\n/);
  });

  it("has a limited number of rows and bytes and names formats without that limit", async () => {
    await joust.client.createTable("many", items(10_001, { dimension: 2 }));
    expect(await rows("SELECT id FROM many", { limit: 10_000 })).toHaveLength(10_000);
    const tooMany = /more than 10000 rows or 4 MiB.*`limit`.*arrow\.stream/;
    expectFailure(await send({ query: "SELECT id FROM many" }), 400, 13, tooMany);
    const wide = "SELECT repeat('x', 5000) AS x FROM many";
    expectFailure(await send({ query: wide, limit: 1_000 }), 400, 13, tooMany);
    expect(await rows(wide, { limit: 700 })).toHaveLength(700);
    for (const accept of ["application/x-ndjson", "text/csv"]) {
      const { text } = await sendOk({ query: wide, limit: 1_000 }, accept);
      expect(text.length).toBeGreaterThan(5_000_000);
    }
  });
});
