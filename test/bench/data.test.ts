import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tableFromArrays, tableFromIPC, tableToIPC } from "apache-arrow";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeDataset } from "../../bench/data/dataset.mjs";
import { generated } from "../../bench/data/generated.mjs";
import { openSource } from "../../bench/data/source.mjs";
import { nearest } from "../../bench/data/truth.mjs";
import type { Distance, Rows, Source } from "../../bench/types.js";
import { removeDir, tempDir } from "../harness/temp.js";

let folder: string;
beforeAll(() => {
  folder = tempDir("bench");
});
afterAll(() => removeDir(folder));

const DIMENSIONS = 12;
const some = (seed: number, rows = 300) => generated({ rows, dimensions: DIMENSIONS, seed });

async function all(source: Source): Promise<Rows> {
  const parts: Rows[] = [];
  for await (const part of source.batches()) parts.push(part);
  return {
    vectors: Float32Array.from(parts.flatMap((part) => [...part.vectors])),
    texts: parts.flatMap(({ texts }) => texts),
    labels: parts.flatMap(({ labels }) => labels),
    numbers: Float64Array.from(parts.flatMap(({ numbers }) => [...numbers])),
  };
}

describe("generated rows", () => {
  test("are identical for the same seed on every machine and in every version", async () => {
    expect(await all(some(5))).toEqual(await all(some(5)));
    const { vectors } = await all(some(5));
    const digest = createHash("sha256").update(vectors).digest("hex");
    expect(digest.slice(0, 16)).toBe("3f13451cbfa0548a");
  });

  test("differ between seeds", async () => {
    const [one, other] = [await all(some(5)), await all(some(6))];
    expect(one.vectors).not.toEqual(other.vectors);
    expect(one.texts).not.toEqual(other.texts);
  });

  test("have the requested count and clustered vectors of length 1", async () => {
    const { vectors, texts } = await all(some(1, 9_000));
    expect(texts).toHaveLength(9_000);
    for (const row of [0, 8_191, 8_192, 8_999]) {
      const vector = vectors.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS);
      expect(vector.reduce((sum, value) => sum + value * value, 0)).toBeCloseTo(1, 5);
    }
  });

  test("contain words of very different frequencies", async () => {
    const { texts } = await all(some(1, 2_000));
    const uses = new Map<string, number>();
    for (const word of texts.join(" ").split(" ")) uses.set(word, (uses.get(word) ?? 0) + 1);
    const counts = [...uses.values()].sort((a, b) => b - a);
    expect(counts[0]).toBeGreaterThan(10 * (counts[100] ?? 0));
    expect(counts.length).toBeGreaterThan(2_000);
  });
});

describe("a data set", () => {
  test("has the same columns for every source", async () => {
    const source = some(3);
    const made = await makeDataset(source, folder);
    const table = tableFromIPC(readFileSync(made.file));
    expect(table.schema.fields.map(({ name, type }) => `${name}: ${type}`)).toEqual([
      "id: Int64",
      "label: Utf8",
      "number: Int64",
      "text: Utf8",
      `vector: FixedSizeList[${DIMENSIONS}]<Float32>`,
    ]);
    const rows = await all(source);
    expect(Array.from(table.getChild("id") ?? [], Number)).toEqual(rows.texts.map((_, id) => id));
    expect(table.getChild("text")?.toArray()).toEqual(rows.texts);
    expect(Array.from(table.getChild("vector")?.get(299).toArray())).toEqual([
      ...rows.vectors.subarray(299 * DIMENSIONS),
    ]);
    expect(tableFromIPC(made.sample.bytes).numRows).toBe(10);
    expect(made.bytes).toBe(readFileSync(made.file).length);
  });

  test("knows the rows that its filters match", async () => {
    const made = await makeDataset(some(3), folder);
    const { labels, numbers } = await all(some(3));
    expect(made.predicates.length).toBeGreaterThan(1);
    for (const predicate of made.predicates) {
      const [from, to] = predicate.number ?? [Number.NaN, Number.NaN];
      const fits = (id: number) =>
        labels[id] === predicate.label && Number(numbers[id]) >= from && Number(numbers[id]) < to;
      const right = labels.map((_, id) => id).filter(fits);
      expect(made.count(predicate)).toBe(right.length);
      expect(labels.map((_, id) => id).filter((id) => made.matches(id, predicate))).toEqual(right);
    }
  });

  test("rejects a source with too few rows", async () => {
    await expect(makeDataset(some(1, 9), folder)).rejects.toThrow("has only 9 rows");
  });
});

describe("nearest()", () => {
  test.each<Distance>(["l2", "cosine", "dot"])(
    "returns by %s the same rows as a full sort",
    async (distance) => {
      const source = { ...scaled(some(9)), distance };
      const queries = (some(10).queries ?? []).slice(0, 5);
      const odd = (id: number) => id % 2 === 1;
      const result = await nearest(source, queries, 10, { all: () => true, odd });
      const { vectors } = await all(source);
      queries.forEach((query, i) => {
        const order = sorted(vectors, query, distance);
        expect(result.all[i]).toEqual(order.slice(0, 10));
        expect(result.odd[i]).toEqual(order.filter(odd).slice(0, 10));
      });
    },
  );

  /** Vectors of different lengths, so that the three distances differ. */
  function scaled(source: Source): Source {
    return {
      ...source,
      async *batches() {
        for await (const rows of source.batches()) {
          const vectors = rows.vectors.map(
            (value, i) => value * (1 + (Math.floor(i / DIMENSIONS) % 7)),
          );
          yield { ...rows, vectors };
        }
      },
    };
  }

  function sorted(vectors: Float32Array, query: readonly number[], distance: Distance): number[] {
    const target = Float32Array.from(query);
    const of = (row: number) => {
      const vector = vectors.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS);
      const dot = vector.reduce((sum, value, i) => sum + value * Number(target[i]), 0);
      const length = Math.hypot(...vector);
      if (distance === "dot") return -dot;
      if (distance === "cosine") return -dot / length;
      return vector.reduce((sum, value, i) => sum + (value - Number(target[i])) ** 2, 0);
    };
    const rows = Array.from({ length: vectors.length / DIMENSIONS }, (_, row) => row);
    return rows.sort((a, b) => of(a) - of(b));
  }
});

describe("an Arrow file", () => {
  const options = { dimensions: 1, seed: 1 };

  test("provides vectors, texts, labels and numbers, and its own rows as queries", async () => {
    const made = await makeDataset(some(3), folder);
    const source = await openSource({ ...options, data: made.file });
    expect(source.dimensions).toBe(DIMENSIONS);
    const [read, written] = [await all(source), await all(some(3))];
    expect(read.vectors).toEqual(written.vectors);
    expect(read.texts).toEqual(written.texts);
    expect(read.labels).toEqual(written.labels);
    expect(read.numbers).toEqual(written.numbers);
    const again = await makeDataset(source, tempDir("bench"));
    expect(again.queries[0]).toEqual([...written.vectors.subarray(0, DIMENSIONS)]);
    expect(again.truth.all[0]?.[0]).toBe(0);
  });

  test("is read up to --rows", async () => {
    const made = await makeDataset(some(3), folder);
    const source = await openSource({ ...options, data: made.file, rows: 123 });
    expect((await all(source)).texts).toHaveLength(123);
  });

  test("is rejected if it has no vectors", async () => {
    const path = join(folder, "plain.arrows");
    const table = tableFromArrays({ n: Int32Array.of(1, 2) });
    writeFileSync(path, tableToIPC(table, "stream"));
    await expect(openSource({ ...options, data: path })).rejects.toThrow(/no column of fixed-size/);
  });

  test("is named in the error if it does not exist", async () => {
    await expect(openSource({ ...options, data: "none.arrows" })).rejects.toThrow(
      "the file none.arrows does not exist",
    );
  });
});

describe("an ann-benchmarks file", () => {
  const train = Float32Array.from({ length: 40 * 4 }, (_, i) => Math.fround(i / 7));
  const test_ = Float32Array.from({ length: 3 * 4 }, (_, i) => Math.fround(i / 3));

  async function write(name: string, distance: string): Promise<string> {
    const h5 = await import("h5wasm/node");
    await h5.ready;
    const path = join(folder, name);
    const file = new h5.File(path, "w");
    file.create_dataset({ name: "train", data: train, shape: [40, 4], dtype: "<f4" });
    file.create_dataset({ name: "test", data: test_, shape: [3, 4], dtype: "<f4" });
    file.create_attribute("distance", distance);
    file.close();
    return path;
  }

  test("provides its rows, its queries and its distance", async () => {
    const path = await write("small.hdf5", "euclidean");
    const source = await openSource({ data: path, dimensions: 1, seed: 1 });
    expect(source).toMatchObject({ dimensions: 4, distance: "l2" });
    expect((await all(source)).vectors).toEqual(train);
    expect(source.queries).toEqual(
      [0, 1, 2].map((row) => [...test_.subarray(row * 4, row * 4 + 4)]),
    );
    const few = await openSource({ data: path, rows: 11, dimensions: 1, seed: 1 });
    expect((await all(few)).vectors).toEqual(train.subarray(0, 44));
  });

  test("is rejected if its distance is not supported", async () => {
    const path = await write("sets.hdf5", "jaccard");
    await expect(openSource({ data: path, dimensions: 1, seed: 1 })).rejects.toThrow(
      "sets.hdf5 has the distance jaccard, which the benchmark does not support",
    );
  });
});
