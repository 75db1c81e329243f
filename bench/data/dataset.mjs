/** @import { Dataset, Source } from "../types.js" */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ARROW_BATCH, ArrowWriter, arrowBatch } from "./arrow-write.mjs";
import { Columns, chooseConditions, chooseLabel } from "./columns.mjs";
import { nearest } from "./truth.mjs";

const SAMPLE_ROWS = 10;
const QUERIES = 500;
/** Queries whose right answers are found: enough for a recall of two digits. */
const JUDGED = 100;
/** Comparisons of which finding them may consist, for tables so large that it would take hours. */
const MOST_COMPARED = 2e8;
const K = 10;

/**
 * Writes a source's rows into `folder`, as a table that is alike for every source (`id` int64, 0 for
 * the first row; `label`, `text` utf8; `number` int64; `vector`), and finds out what can be asked of
 * it and what the right answers are.
 *
 * @param {Source} source
 * @param {string} folder
 * @returns {Promise<Dataset>}
 */
export async function makeDataset(source, folder) {
  const file = join(folder, "rows.arrows");
  const columns = new Columns();
  const writer = new ArrowWriter(file);
  for await (const rows of source.batches()) {
    for (const part of parts(rows)) {
      await writer.write(arrowBatch(part, columns.size, source.dimensions));
      columns.add(part);
    }
  }
  const bytes = await writer.end();
  if (columns.size < SAMPLE_ROWS) throw new Error(`${source.title} has only ${columns.size} rows`);

  const queries = source.queries ?? (await rowsOfTable(source, columns.size));
  const label = chooseLabel(columns);
  const matches = (id, condition) => columns.matches(id, condition);
  return {
    title: source.title,
    rows: columns.size,
    dimensions: source.dimensions,
    distance: source.distance,
    file,
    bytes,
    sample: await sample(source, folder),
    queries,
    texts: columns.queries(QUERIES),
    label,
    conditions: chooseConditions(columns, label),
    count: (condition) => columns.count(condition),
    matches,
    truth: await nearest(source, queries.slice(0, judged(columns.size)), K, {
      all: () => true,
      labelled: (id) => matches(id, { label }),
    }),
  };
}

/** @param {number} rows */
function judged(rows) {
  return Math.min(JUDGED, Math.max(20, Math.floor(MOST_COMPARED / rows)));
}

/** Batches of a readable size, whatever the source deals in. */
function* parts({ vectors, texts, labels, numbers }) {
  const dimensions = vectors.length / texts.length;
  for (let at = 0; at < texts.length; at += ARROW_BATCH) {
    const end = Math.min(texts.length, at + ARROW_BATCH);
    yield {
      vectors: vectors.subarray(at * dimensions, end * dimensions),
      texts: texts.slice(at, end),
      labels: labels.slice(at, end),
      numbers: numbers.subarray(at, end),
    };
  }
}

/** The first rows once more. */
async function sample(source, folder) {
  const file = join(folder, "sample.arrows");
  const writer = new ArrowWriter(file);
  for await (const rows of source.batches()) {
    const [first] = parts(rows);
    const few = {
      vectors: first.vectors.slice(0, SAMPLE_ROWS * source.dimensions),
      texts: first.texts.slice(0, SAMPLE_ROWS),
      labels: first.labels.slice(0, SAMPLE_ROWS),
      numbers: first.numbers.slice(0, SAMPLE_ROWS),
    };
    await writer.write(arrowBatch(few, 0, source.dimensions));
    break;
  }
  await writer.end();
  return { file, bytes: new Uint8Array(readFileSync(file)) };
}

/** Rows at even distances, to be searched for. */
async function rowsOfTable(source, size) {
  const step = Math.max(1, Math.floor(size / QUERIES));
  const queries = [];
  let id = 0;
  for await (const { vectors, texts } of source.batches()) {
    for (let i = 0; i < texts.length; i++, id++) {
      if (id % step !== 0 || queries.length >= QUERIES) continue;
      queries.push([...vectors.subarray(i * source.dimensions, (i + 1) * source.dimensions)]);
    }
  }
  return queries;
}
