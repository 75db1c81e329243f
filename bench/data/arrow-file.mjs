/** @import { Rows, Source } from "../types.js" */
import { createReadStream } from "node:fs";
import { basename } from "node:path";
import { DataType, RecordBatchReader } from "apache-arrow";

/** The column names to use first. The number column is never `id`. */
const PREFERRED = { text: ["text", "description"], label: ["label", "section", "category"] };

/**
 * A file with an Arrow IPC stream. The source uses the first column of fixed-size lists of floats, a string
 * column for texts and one for labels (by name, otherwise the first and the last), and the first column of
 * integers other than `id`.
 *
 * @param {string} path
 * @param {{ rows?: number | undefined }} limits
 * @returns {Promise<Source>}
 */
export async function arrowFile(path, { rows = Number.POSITIVE_INFINITY } = {}) {
  const chosen = columnsOf((await open(path)).schema);
  return {
    title: basename(path),
    dimensions: chosen.dimensions,
    distance: "cosine",
    async *batches() {
      let left = rows;
      for await (const batch of await open(path)) {
        if (left <= 0) return;
        const part = batch.numRows > left ? batch.slice(0, left) : batch;
        left -= part.numRows;
        if (part.numRows > 0) yield rowsOf(part, chosen);
      }
    },
  };
}

async function open(path) {
  const reader = await RecordBatchReader.from(createReadStream(path));
  await reader.open();
  if (!reader.schema) throw new Error(`${basename(path)} contains no Arrow IPC stream`);
  return reader;
}

/** @param {import("apache-arrow").Schema} schema */
function columnsOf({ fields }) {
  const vector = fields.find(({ type }) => DataType.isFixedSizeList(type));
  if (!vector) throw new Error("the file has no column of fixed-size lists for the vectors");
  const strings = fields.filter(({ type }) => DataType.isUtf8(type)).map(({ name }) => name);
  const named = (names) => names.find((name) => strings.includes(name));
  const numbers = fields.find(({ name, type }) => DataType.isInt(type) && name !== "id");
  return {
    vector: vector.name,
    dimensions: /** @type {import("apache-arrow").FixedSizeList} */ (vector.type).listSize,
    text: named(PREFERRED.text) ?? strings[0],
    label: named(PREFERRED.label) ?? strings.at(-1),
    number: numbers?.name,
  };
}

/** @returns {Rows} */
function rowsOf(batch, { vector, dimensions, text, label, number }) {
  const size = batch.numRows;
  const lists = batch.getChild(vector);
  const flat = new Float32Array(size * dimensions);
  for (let i = 0; i < size; i++) {
    const list = lists.get(i);
    if (!list) throw new Error("a row of the file has no vector");
    flat.set(list.toArray(), i * dimensions);
  }
  const strings = (name) =>
    Array.from({ length: size }, (_, i) => (name && batch.getChild(name)?.get(i)) || "");
  const integers = number === undefined ? undefined : batch.getChild(number);
  const numbers = Float64Array.from({ length: size }, (_, i) => Number(integers?.get(i) ?? 0));
  return { vectors: flat, texts: strings(text), labels: strings(label), numbers };
}
