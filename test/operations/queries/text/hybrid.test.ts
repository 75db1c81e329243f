import { beforeAll, describe, expect, it } from "vitest";
import { stream, type } from "../../../harness/arrow.js";
import { expectFailure } from "../../../harness/expect-failure.js";
import { setupServer } from "../../../harness/setup-server.js";
import { textIndex, words } from "./text-tables.js";

const joust = setupServer();
const near = { vector: { single_vector: [0, 0] } };

beforeAll(async () => {
  const { client } = joust;
  for (const [id, index_type] of [
    ["own", "FTS"],
    ["native", "INVERTED"],
  ] as const) {
    await client.createTable(
      id,
      stream({
        id: [type.i64, [1n, 2n, 3n, 4n]],
        text: [type.text, ["cat", "a cat among dogs and birds", "dog", "bird"]],
        vector: [
          type.vector(2),
          [
            [9, 9],
            [1, 0],
            [0, 0],
            [5, 5],
          ],
        ],
      }),
    );
    await textIndex(client, id, { column: "text", index_type });
  }
});

describe.each(["own", "native"])("a hybrid search (%s)", (table) => {
  const search = async (body: object) => {
    const result = await joust.client.query(table, { ...near, ...words("cat"), ...body });
    return result.toArray().map((row) => ({ ...row.toJSON(), id: Number(row.id) }));
  };

  it("merges the rows of both searches into one order", async () => {
    const rows = await search({ k: 3, columns: { column_names: ["id"] } });
    expect(rows.map((row) => row.id)).toEqual([2, 1, 3]);
    const [both, , close] = rows;
    expect(both._relevance_score).toBeCloseTo(2 / 62, 6);
    expect(both._distance).toBe(1);
    expect(both._score).toBeGreaterThan(0);
    expect(close).toMatchObject({ _distance: 0, _score: null });
    expect(close._relevance_score).toBeCloseTo(1 / 61, 6);
    expect(Object.keys(both)).toEqual(["id", "_distance", "_score", "_relevance_score"]);
  });

  it("applies filters, offsets and weights", async () => {
    const ids = async (body: object) => (await search(body)).map((row) => row.id);
    expect(await ids({ k: 10, filter: "id != 2" })).toEqual([1, 3, 4]);
    const [, ...rest] = await ids({ k: 3 });
    expect(await ids({ k: 2, offset: 1 })).toEqual(rest);
    const weighted = (vector_weight: number) => ({
      k: 2,
      hybrid: { method: "weighted", vector_weight },
    });
    expect((await ids(weighted(0)))[0]).toBe(1);
    expect((await ids(weighted(1)))[0]).toBe(3);
  });

  it("shows both searches in its plan", async () => {
    const query = { k: 2, ...near, ...words("cat") };
    const { client } = joust;
    const plan = await client.ok(`/v1/table/${table}/explain_plan`, { query });
    for (const part of [/Fuse: reciprocal rank/, /MatchQuery/, /KNN|ANN/])
      expect(plan).toMatch(part);
    const analyzed = await client.ok(`/v1/table/${table}/analyze_plan`, query);
    expect(analyzed).toMatch(/^AnalyzeExec /);
    // Either joust or Lance executes the text search, depending on the index.
    for (const step of ["(TextMatch|ProjectionExec)", "KNNVectorDistance"]) {
      expect(analyzed).toMatch(new RegExp(` ${step}: .*, metrics=\\[output_rows=2, elapsed=`));
    }
  });

  it.each([
    [{ hybrid: { method: "best" } }, /method/],
    [{ hybrid: { vector_weight: 2 } }, /vector_weight/],
    [{ hybrid: { rank_constant: -1 } }, /rank_constant/],
    [
      {
        vector: {
          multi_vector: [
            [0, 0],
            [1, 1],
          ],
        },
      },
      /one vector/,
    ],
  ])("rejects %j", async (body, detail) => {
    const query = { k: 1, ...near, ...words("cat"), ...body };
    expectFailure(await joust.client.post(`/v1/table/${table}/query`, query), 400, 13, detail);
  });
});
