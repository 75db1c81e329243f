/** @import { Dataset, Source } from "../types.js" */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ARROW_BATCH, ArrowWriter, arrowBatch } from "./arrow-write.mjs";
import { Columns, chooseLabel, choosePredicates } from "./columns.mjs";
import { nearest } from "./truth.mjs";

const SAMPLE_ROWS = 10;
const QUERIES = 500;
/** Queries with known nearest rows: enough for two digits of recall. */
const JUDGED = 100;
/** Limits the distance computations for them, which would take hours for large tables. */
const MAX_COMPARISONS = 2e8;
const K = 10;

/**
 * Writes the rows of a source into `folder` with one schema for all sources (`id` int64 from 0, `label` and
 * `text` utf8, `number` int64, `vector`), and computes the parameters and correct answers of operations.
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
  const matches = (id, predicate) => columns.matches(id, predicate);
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
    predicates: choosePredicates(columns, label),
    count: (predicate) => columns.count(predicate),
    matches,
    truth: await nearest(source, queries.slice(0, judgedQueries(columns.size)), K, {
      all: () => true,
      labelled: (id) => matches(id, { label }),
    }),
  };
}

/** The number of queries with known nearest rows. @param {number} rows */
function judgedQueries(rows) {
  return Math.min(JUDGED, Math.max(20, Math.floor(MAX_COMPARISONS / rows)));
}

/** Splits batches of a source to `ARROW_BATCH` rows. */
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

/** A file with the first rows. */
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

/** Evenly spaced rows of the table as queries. */
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
