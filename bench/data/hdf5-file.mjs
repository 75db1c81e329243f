/** @import { Distance, Source } from "../types.js" */
import { basename } from "node:path";
import { random } from "./random.mjs";
import { words, ZipfText } from "./words.mjs";

const BATCH = 8192;
const LABELS = 20;
/** @type {Record<string, Distance>} */
const DISTANCES = { angular: "cosine", euclidean: "l2", dot: "dot" };

/**
 * A file of ann-benchmarks: `train` is the table, `test` has the queries, the attribute `distance` names the
 * distance. Texts, labels and numbers are generated, because such files have none.
 *
 * @param {string} path
 * @param {{ rows?: number | undefined, seed: number }} limits
 * @returns {Promise<Source>}
 */
export async function hdf5File(path, { rows: wanted, seed }) {
  const h5 = await import("h5wasm/node");
  await h5.ready;
  const file = new h5.File(path, "r");
  const train = matrix(file, "train");
  const [all, dimensions] = train.shape;
  const rows = Math.min(all, wanted ?? all);
  const name = String(file.attrs.distance?.value ?? "angular");
  const distance = DISTANCES[name];
  if (!distance)
    throw new Error(
      `${basename(path)} has the distance ${name}, which the benchmark does not support`,
    );
  return {
    title: basename(path),
    dimensions,
    distance,
    queries: split(matrix(file, "test"), dimensions),
    async *batches() {
      const chance = random(seed + 1);
      const texts = new ZipfText(words(seed), seed + 2);
      for (let at = 0; at < rows; at += BATCH) {
        const size = Math.min(BATCH, rows - at);
        yield {
          vectors: Float32Array.from(train.slice([[at, at + size], []])),
          texts: Array.from({ length: size }, () => texts.next()),
          labels: Array.from({ length: size }, () => `label-${chance.below(LABELS)}`),
          numbers: Float64Array.from({ length: size }, () => chance.below(1_000_000)),
        };
      }
    },
  };
}

function matrix(file, name) {
  const dataset = file.get(name);
  if (dataset?.shape?.length !== 2) {
    throw new Error(`the file has no matrix \`${name}\`: it is not a file of ann-benchmarks`);
  }
  return dataset;
}

/** The first 500 queries. */
function split(test, dimensions) {
  const count = Math.min(500, test.shape[0]);
  const flat = test.slice([[0, count], []]);
  return Array.from({ length: count }, (_, i) =>
    Array.from(flat.subarray(i * dimensions, (i + 1) * dimensions)),
  );
}
